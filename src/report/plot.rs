//! Plots as SVG, by plotters.

use plotters::chart::MeshStyle;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::coord::types::RangedCoordf64;
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
    /// Places on the horizontal axis that are marked, with a word each.
    pub marks: Vec<(f64, String)>,
}

/// A line with its name.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name.
    pub name: String,
    /// Its colour: equal numbers have equal colours, in all charts.
    pub colour: usize,
    /// Its dashes: 0 is a whole line.
    pub dashes: usize,
    /// Its points.
    pub points: Vec<(f64, f64)>,
    /// Intervals around points: x, and the lower and the upper end.
    pub band: Vec<(f64, f64, f64)>,
    /// Whether its points are marked, not only joined.
    pub marked: bool,
}

/// A chart drawn for a page that names its lines itself.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// The image.
    pub svg: String,
    /// The lines that are shown, by their numbers.
    pub lines: Vec<usize>,
    /// All points: place in the image, the number of the line, and the values.
    pub points: Vec<(i32, i32, usize, f64, f64)>,
}

/// A colour by its number: Masataka Okabe and Kei Ito's colours, which colour-blind readers can tell apart, without yellow and
/// with grey.
pub fn colour(number: usize) -> RGBColor {
    const COLOURS: [(u8, u8, u8); 7] =
        [(0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (230, 159, 0), (86, 180, 233), (127, 127, 127)];
    let (red, green, blue) = COLOURS[number % COLOURS.len()];
    RGBColor(red, green, blue)
}

/// Colours before they are repeated.
pub const COLOURS: usize = 7;

const WIDTH: u32 = 520;
const HEIGHT: u32 = 360;
/// The width of the names of lines beside the plot, and the height of one.
const NAMES: u32 = 130;
const NAME: i32 = 16;

impl Chart {
    /// The image by itself, with the name of each line at its end; none without a point to show.
    pub fn to_svg(&self) -> Option<String> {
        self.drawn(NAMES).map(|drawing| drawing.svg)
    }

    /// The image without names; none without a point to show.
    pub fn for_page(&self) -> Option<Drawing> {
        self.drawn(0)
    }

    fn drawn(&self, names: u32) -> Option<Drawing> {
        let has_points = |line: &Line| line.points.iter().any(|p| self.can_show(p.1));
        let lines: Vec<usize> = (0..self.lines.len()).filter(|&i| has_points(&self.lines[i])).collect();
        if lines.is_empty() {
            return None;
        }
        let (mut svg, mut points) = (String::new(), Vec::new());
        {
            let root = SVGBackend::with_string(&mut svg, (WIDTH + names, HEIGHT)).into_drawing_area();
            let (plot, beside) = root.split_horizontally(WIDTH);
            // An image that is shown by itself may be on a dark background.
            let drawn = root.fill(&WHITE).and_then(|()| self.draw(&plot, &lines, &mut points));
            let named = drawn.and_then(|()| if names > 0 { self.draw_names(&beside, &lines, &points) } else { Ok(()) });
            named.expect("a text takes all drawing");
        }
        // The page gives it its size.
        let from = format!(r#"width="{}" height="{HEIGHT}" "#, WIDTH + names);
        Some(Drawing { svg: svg.replacen(&from, "", 1), lines, points })
    }

    fn can_show(&self, y: f64) -> bool {
        y.is_finite() && (!self.log || y > 0.0)
    }

    fn shown(&self, line: usize) -> Vec<(f64, f64)> {
        self.lines[line].points.iter().filter(|p| self.can_show(p.1)).copied().collect()
    }

    fn draw(&self, area: &Area<'_, '_>, lines: &[usize], points: &mut Vec<(i32, i32, usize, f64, f64)>) -> Drawn {
        let all: Vec<_> = lines.iter().flat_map(|&line| self.shown(line)).collect();
        let bands = lines.iter().flat_map(|&line| &self.lines[line].band);
        let ends = bands.flat_map(|&(_, low, high)| [low, high]).filter(|y| self.can_show(*y));
        let (x0, x1) = range(all.iter().map(|p| p.0));
        let (y0, y1) = range(all.iter().map(|p| p.1).chain(ends));
        let mut builder = ChartBuilder::on(area);
        builder.caption(&self.title, text(18)).margin(10).margin_right(24).x_label_area_size(54).y_label_area_size(66);
        let x_label = |x: &f64| label(*x, x1 - x0);
        if self.log {
            let (low, high) = (10f64.powf(y0.log10().floor()), 10f64.powf(y1.log10().ceil()));
            let mut chart = builder.build_cartesian_2d(x0..x1, (low..high.max(10.0 * low)).log_scale())?;
            self.mesh(&mut chart.configure_mesh()).x_label_formatter(&x_label).y_label_formatter(&power).draw()?;
            return self.draw_lines(&mut chart, lines, points);
        }
        let room = 0.04 * (y1 - y0);
        let mut chart = builder.build_cartesian_2d(x0..x1, y0 - room..y1 + room)?;
        let y_label = |y: &f64| label(*y, y1 - y0);
        self.mesh(&mut chart.configure_mesh()).x_label_formatter(&x_label).y_label_formatter(&y_label).draw()?;
        for (at, word) in self.marks.iter().filter(|(at, _)| (x0..x1).contains(at)) {
            let ends = vec![(*at, y0 - room), (*at, y1 + room)];
            chart.draw_series([PathElement::new(ends, RGBColor(128, 128, 128).mix(0.6).stroke_width(1))])?;
            let style = text(11).color(&RGBColor(110, 110, 110)).transform(FontTransform::Rotate90);
            chart.draw_series([Text::new(word.clone(), (*at, y1 + room), style)])?;
        }
        for &number in lines {
            let (line, colour) = (&self.lines[number], colour(self.lines[number].colour));
            let finite = line.band.iter().filter(|(_, low, high)| low.is_finite() && high.is_finite());
            chart.draw_series(finite.map(|&(x, low, high)| {
                PathElement::new(vec![(x, low), (x, high)], colour.mix(0.45).stroke_width(4))
            }))?;
            if line.marked {
                chart
                    .draw_series(self.shown(number).into_iter().map(|point| Circle::new(point, 3, colour.filled())))?;
            }
        }
        self.draw_lines(&mut chart, lines, points)
    }

    fn draw_lines<'b, 's, Y>(
        &self,
        chart: &mut ChartContext<'b, SVGBackend<'s>, Cartesian2d<RangedCoordf64, Y>>,
        lines: &[usize],
        points: &mut Vec<(i32, i32, usize, f64, f64)>,
    ) -> Drawn
    where
        Y: Ranged<ValueType = f64>,
    {
        for &number in lines {
            let line = &self.lines[number];
            let stroke = colour(line.colour).stroke_width(2);
            if line.dashes == 0 {
                chart.draw_series(LineSeries::new(self.shown(number), stroke))?;
            } else {
                let size = [9, 3, 15][(line.dashes - 1) % 3];
                chart.draw_series(DashedLineSeries::new(self.shown(number), size, 4, stroke))?;
            }
            for (x, y) in self.shown(number) {
                let (left, top) = chart.backend_coord(&(x, y));
                points.push((left, top, number, x, y));
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

    /// Writes each line's name beside its last point, as far apart as they must be, with a thin line between the two.
    fn draw_names(&self, area: &Area<'_, '_>, lines: &[usize], points: &[(i32, i32, usize, f64, f64)]) -> Drawn {
        let last = |&line: &usize| points.iter().rev().find(|point| point.2 == line).map(|point| (point.1, line));
        let mut ends: Vec<(i32, usize)> = lines.iter().filter_map(last).collect();
        ends.sort_unstable();
        let lowest = HEIGHT as i32 - NAME * ends.len() as i32;
        let mut next = i32::MIN;
        for (i, (top, number)) in ends.into_iter().enumerate() {
            let y = top.max(next).min(lowest + NAME * i as i32);
            next = y + NAME;
            let line = &self.lines[number];
            let colour = colour(line.colour);
            area.draw(&PathElement::new(vec![(-20, top), (4, y)], colour.stroke_width(1)))?;
            let style = text(14).color(&colour).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(line.name.clone(), (8, y), style))?;
        }
        Ok(())
    }
}

type Area<'b, 's> = DrawingArea<SVGBackend<'s>, plotters::coord::Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

fn text(size: u32) -> TextStyle<'static> {
    ("sans-serif", size).into_text_style(&(WIDTH, HEIGHT))
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
            colour: 0,
            dashes: 0,
            points: points.to_vec(),
            band: points.iter().map(|&(x, y)| (x, y - 1.0, f64::INFINITY)).collect(),
            marked: true,
        };
        let lines = lines.iter().map(line).collect();
        Chart { title: "Title <1>".into(), x: "x".into(), y: "y".into(), log, lines, marks: vec![(1.5, "fit".into())] }
            .to_svg()
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
