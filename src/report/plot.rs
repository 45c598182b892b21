//! Plots as SVG, by plotters.

use plotters::chart::MeshStyle;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Lines over a common pair of axes.
#[derive(Clone, Debug)]
pub struct Chart {
    /// The title above it.
    pub title: String,
    /// The label of the horizontal axis.
    pub x: String,
    /// The label of the vertical axis.
    pub y: String,
    /// Whether the vertical axis is logarithmic; then points that are not above zero are left out.
    pub log: bool,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A line with its name.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
    /// Intervals around points: x, and the lower and the upper end.
    pub band: Vec<(f64, f64, f64)>,
    /// Whether its points are marked, not only joined.
    pub marked: bool,
}

/// The colour of a line by its number: Masataka Okabe and Kei Ito's colours, which colour-blind readers can tell apart, without yellow and
/// with grey.
fn colour(number: usize) -> RGBColor {
    const COLOURS: [(u8, u8, u8); 7] =
        [(0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (230, 159, 0), (86, 180, 233), (127, 127, 127)];
    let (red, green, blue) = COLOURS[number % COLOURS.len()];
    RGBColor(red, green, blue)
}

const WIDTH: u32 = 620;
const HEIGHT: u32 = 400;
/// The height of a row of the legend.
const LEGEND: u32 = 20;
const IN_A_ROW: usize = 3;

impl Chart {
    /// The image; none without a point to show.
    pub fn to_svg(&self) -> Option<String> {
        let lines: Vec<&Line> =
            self.lines.iter().filter(|line| line.points.iter().any(|p| self.can_show(p.1))).collect();
        if lines.is_empty() {
            return None;
        }
        let rows = (lines.len().div_ceil(IN_A_ROW)) as u32;
        let mut svg = String::new();
        {
            let root = SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT + LEGEND * rows)).into_drawing_area();
            let (plot, legend) = root.split_vertically(HEIGHT);
            // An image that is shown by itself may be on a dark background.
            let drawn = root.fill(&WHITE).and_then(|()| self.draw(&plot, &lines));
            drawn.and_then(|()| Self::draw_legend(&legend, &lines)).expect("a text takes all drawing");
        }
        // The page gives it its size.
        let from = format!(r#"width="{WIDTH}" height="{}" "#, HEIGHT + LEGEND * rows);
        Some(svg.replacen(&from, "", 1))
    }

    fn can_show(&self, y: f64) -> bool {
        y.is_finite() && (!self.log || y > 0.0)
    }

    fn draw(&self, area: &Area<'_, '_>, lines: &[&Line]) -> Drawn {
        let shown = |line: &&Line| line.points.iter().filter(|p| self.can_show(p.1)).copied().collect::<Vec<_>>();
        let points: Vec<_> = lines.iter().flat_map(shown).collect();
        let bands = lines.iter().flat_map(|line| &line.band);
        let ends = bands.flat_map(|&(_, low, high)| [low, high]).filter(|y| self.can_show(*y));
        let (x0, x1) = range(points.iter().map(|p| p.0));
        let (y0, y1) = range(points.iter().map(|p| p.1).chain(ends));
        let mut builder = ChartBuilder::on(area);
        builder.caption(&self.title, text(18)).margin(10).margin_right(24).x_label_area_size(54).y_label_area_size(66);
        if self.log {
            let (low, high) = (10f64.powf(y0.log10().floor()), 10f64.powf(y1.log10().ceil()));
            let mut chart = builder.build_cartesian_2d(x0..x1, (low..high.max(10.0 * low)).log_scale())?;
            let x_label = |x: &f64| label(*x, x1 - x0);
            self.mesh(&mut chart.configure_mesh()).x_label_formatter(&x_label).y_label_formatter(&power).draw()?;
            for (number, line) in lines.iter().enumerate() {
                chart.draw_series(LineSeries::new(shown(line), stroke(number)))?;
            }
            return Ok(());
        }
        let room = 0.04 * (y1 - y0);
        let mut chart = builder.build_cartesian_2d(x0..x1, y0 - room..y1 + room)?;
        let y_label = |y: &f64| label(*y, y1 - y0);
        let x_label = |x: &f64| label(*x, x1 - x0);
        self.mesh(&mut chart.configure_mesh()).x_label_formatter(&x_label).y_label_formatter(&y_label).draw()?;
        for (number, line) in lines.iter().enumerate() {
            let colour = colour(number);
            let finite = line.band.iter().filter(|(_, low, high)| low.is_finite() && high.is_finite());
            chart.draw_series(finite.map(|&(x, low, high)| {
                PathElement::new(vec![(x, low), (x, high)], colour.mix(0.45).stroke_width(4))
            }))?;
            chart.draw_series(LineSeries::new(shown(line), stroke(number)))?;
            if line.marked {
                chart.draw_series(shown(line).into_iter().map(|point| Circle::new(point, 3, colour.filled())))?;
            }
        }
        Ok(())
    }

    fn mesh<'m, 'a, 'b, 's, X, Y>(
        &self,
        mesh: &'m mut MeshStyle<'a, 'b, X, Y, SVGBackend<'s>>,
    ) -> &'m mut MeshStyle<'a, 'b, X, Y, SVGBackend<'s>>
    where
        X: Ranged<ValueType = f64> + ValueFormatter<f64>,
        Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        mesh.x_desc(&self.x)
            .y_desc(&self.y)
            .x_labels(7)
            .label_style(text(14))
            .axis_desc_style(text(15))
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(128, 128, 128).mix(0.3))
    }

    fn draw_legend(area: &Area<'_, '_>, lines: &[&Line]) -> Drawn {
        for (number, line) in lines.iter().enumerate() {
            let x = 62 + (number % IN_A_ROW) as i32 * 186;
            let y = (number / IN_A_ROW) as i32 * LEGEND as i32 + 8;
            area.draw(&PathElement::new(vec![(x, y), (x + 20, y)], stroke(number)))?;
            let style = text(14).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(line.name.clone(), (x + 26, y), style))?;
        }
        Ok(())
    }
}

type Area<'b, 's> = DrawingArea<SVGBackend<'s>, plotters::coord::Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

fn text(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_text_style(&(WIDTH, HEIGHT))
}

/// Lines with repeated colours are thinner.
fn stroke(number: usize) -> ShapeStyle {
    colour(number).stroke_width(if number < 7 { 2 } else { 1 })
}

/// The least and the largest of some numbers, always different.
fn range(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    if high > low { (low, high) } else { (low - 0.5, high + 0.5) }
}

/// A number on an axis of some span, with enough digits to differ from its neighbours, about a seventh of the span away.
fn label(y: f64, span: f64) -> String {
    let digits = (-(span / 7.0).log10()).ceil().clamp(0.0, 6.0);
    let unit = 10f64.powf(digits);
    // Not -0.
    let rounded = (y * unit).round() / unit + 0.0;
    format!("{rounded:.*}", digits as usize)
}

fn power(y: &f64) -> String {
    match *y {
        y if y < 1e4 => format!("{y:.0}"),
        y if y < 1e6 => format!("{:.0}k", y / 1e3),
        y if y < 1e9 => format!("{:.0}M", y / 1e6),
        y => format!("1e{:.0}", y.log10()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(log: bool, lines: &[(&str, &[(f64, f64)])]) -> Option<String> {
        let line = |(name, points): &(&str, &[(f64, f64)])| Line {
            name: (*name).to_owned(),
            points: points.to_vec(),
            band: points.iter().map(|&(x, y)| (x, y - 1.0, f64::INFINITY)).collect(),
            marked: true,
        };
        let lines = lines.iter().map(line).collect();
        Chart { title: "Title <1>".into(), x: "x".into(), y: "y".into(), log, lines }.to_svg()
    }

    #[test]
    fn labels_have_the_digits_they_need() {
        let labels = |span: f64, values: [f64; 2]| values.map(|value| label(value, span));
        assert_eq!(labels(600.0, [-0.2, 150.0]), ["0", "150"]);
        assert_eq!(labels(1.4, [0.2, 1.2]), ["0.2", "1.2"]);
        assert_eq!(labels(0.03, [0.005, 0.01]), ["0.005", "0.010"]);
    }

    #[test]
    fn an_image_names_every_line_that_has_points() {
        for log in [false, true] {
            let svg =
                chart(log, &[("one", &[(1.0, 5.0), (2.0, 3e9)]), ("two", &[(1.0, 1.0)]), ("three", &[])]).unwrap();
            assert!(svg.contains("\none\n") && svg.contains("\ntwo\n") && !svg.contains("three"), "{svg}");
            assert!(svg.starts_with("<svg viewBox") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert!(svg.contains("Title &lt;1&gt;"), "{svg}");
        }
        assert!(!chart(true, &[("flat", &[(1.0, 1.0)])]).unwrap().contains("NaN"));
        assert_eq!(chart(false, &[("empty", &[])]), None);
        assert_eq!(chart(true, &[("below", &[(1.0, -1.0)])]), None);
    }
}
