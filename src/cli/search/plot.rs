//! Nodes by depth as an SVG image.

use std::fmt::Write;

/// Nodes of one search at the depths it was run to.
pub(super) struct Curve {
    pub(super) name: String,
    pub(super) points: Vec<(u32, f64)>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 460.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 590.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 412.0;
const LINE_HEIGHT: f64 = 17.0;
/// Masataka Okabe and Kei Ito's colours, which colour-blind readers can tell apart, without yellow and with grey.
const COLOURS: [&str; 8] = ["#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"];
/// Curves beyond the colours take them again, dashed.
const DASHES: [&str; 3] = ["none", "7 4", "2 3"];

/// Curves on a logarithmic scale, each named at its right end, the names in the order of the ends.
pub(super) fn plot(curves: &[Curve]) -> String {
    let curves: Vec<_> = curves.iter().filter(|curve| !curve.points.is_empty()).collect();
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let deepest = points().map(|point| point.0).max().unwrap_or(1).max(2);
    let decades = points().map(|point| point.1.max(1.0).log10().ceil()).fold(1.0, f64::max);
    let x = |depth: u32| LEFT + (RIGHT - LEFT) * f64::from(depth - 1) / f64::from(deepest - 1);
    let y = |nodes: f64| BOTTOM - (BOTTOM - TOP) * nodes.max(1.0).log10() / decades;

    let mut svg = String::new();
    let mut add = |line: String| svg.write_fmt(format_args!("{line}\n")).expect("strings take all text");
    add(format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="13">
<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>
<text x="{LEFT}" y="24" font-size="15" font-weight="bold">Nodes visited by depth, mean of the positions</text>"##
    ));
    for decade in 0..=decades as u32 {
        let y = y(10f64.powi(decade as i32));
        add(format!(r##"<path d="M{LEFT} {y:.1}H{RIGHT}" stroke="#ddd"/>"##));
        add(format!(r#"<text x="{}" y="{:.1}" text-anchor="end">{}</text>"#, LEFT - 8.0, y + 4.5, power(decade)));
    }
    for depth in 1..=deepest {
        add(format!(r#"<text x="{:.1}" y="{}" text-anchor="middle">{depth}</text>"#, x(depth), BOTTOM + 20.0));
    }
    add(format!(r#"<text x="{}" y="{}" text-anchor="middle">plies</text>"#, (LEFT + RIGHT) / 2.0, BOTTOM + 38.0));

    let ends: Vec<f64> =
        curves.iter().map(|curve| curve.points.last().map_or(BOTTOM, |&(_, nodes)| y(nodes))).collect();
    let labels = spread(&ends);
    for (i, (curve, label)) in curves.iter().zip(labels).enumerate() {
        let style = format!(
            r#"fill="none" stroke="{}" stroke-dasharray="{}""#,
            COLOURS[i % COLOURS.len()],
            DASHES[i / COLOURS.len() % DASHES.len()]
        );
        let path: Vec<_> =
            curve.points.iter().map(|&(depth, nodes)| format!("{:.1} {:.1}", x(depth), y(nodes))).collect();
        let end = curve.points.last().map_or(RIGHT, |&(depth, _)| x(depth));
        add(format!(r#"<path d="M{}" {style} stroke-width="2"/>"#, path.join("L")));
        add(format!(r#"<path d="M{end:.1} {:.1}L{} {label:.1}" {style} opacity="0.4"/>"#, ends[i], RIGHT + 22.0));
        add(format!(r#"<path d="M{} {label:.1}h18" {style} stroke-width="2"/>"#, RIGHT + 22.0));
        add(format!(r#"<text x="{}" y="{:.1}">{}</text>"#, RIGHT + 45.0, label + 4.5, curve.name));
    }
    add("</svg>".to_owned());
    svg
}

fn power(decade: u32) -> String {
    match decade {
        0..=3 => 10u32.pow(decade).to_string(),
        4..=5 => format!("{}k", 10u32.pow(decade - 3)),
        6..=8 => format!("{}M", 10u32.pow(decade - 6)),
        _ => format!("1e{decade}"),
    }
}

/// Heights for labels near the wished ones, in the same order and a line apart, within the image.
fn spread(wished: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wished.len()).collect();
    order.sort_by(|&a, &b| wished[a].total_cmp(&wished[b]));
    let mut heights = wished.to_vec();
    let mut lowest = f64::NEG_INFINITY;
    for &i in &order {
        heights[i] = heights[i].max(lowest);
        lowest = heights[i] + LINE_HEIGHT;
    }
    let mut highest = BOTTOM + LINE_HEIGHT;
    for &i in order.iter().rev() {
        heights[i] = heights[i].min(highest);
        highest = heights[i] - LINE_HEIGHT;
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_order_and_distance() {
        let heights = spread(&[400.0, 100.0, 401.0, 102.0, 402.0]);
        for (upper, lower) in [(1, 3), (3, 0), (0, 2), (2, 4)] {
            assert!(heights[lower] - heights[upper] >= LINE_HEIGHT, "{heights:?}");
        }
        assert!(heights.iter().all(|&height| height <= BOTTOM + LINE_HEIGHT));
    }

    #[test]
    fn an_image_names_every_curve_that_has_points() {
        let curve = |name: &str, points: &[(u32, f64)]| Curve { name: name.to_owned(), points: points.to_vec() };
        let svg = plot(&[curve("one", &[(1, 5.0), (2, 3e9)]), curve("two", &[(1, 1.0)]), curve("three", &[])]);
        assert!(svg.contains(">one<") && svg.contains(">two<") && !svg.contains(">three<"));
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{svg}");
        assert!(!plot(&[]).contains("NaN"));
    }
}
