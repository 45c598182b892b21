//! Plots as SVG, by plotters.

use plotters::prelude::*;

/// Lines over a common pair of axes.
#[derive(Clone, Debug)]
pub(super) struct Chart {
    /// The title above it.
    pub title: String,
    /// The label of the horizontal axis.
    pub x: String,
    /// The label of the vertical axis.
    pub y: String,
    /// The lines.
    pub lines: Vec<Line>,
    /// Places on the horizontal axis that are marked, with a word each.
    pub marks: Vec<(f64, String)>,
}

/// A line with its name.
#[derive(Clone, Debug)]
pub(super) struct Line {
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

/// A drawn chart. The page names its lines.
#[derive(Clone, Debug)]
pub(super) struct Drawing {
    /// The image.
    pub svg: String,
    /// The lines that are shown, by their numbers.
    pub lines: Vec<usize>,
    /// All points: place in the image, the number of the line, and the values.
    pub points: Vec<(i32, i32, usize, f64, f64)>,
}

/// A colour by its number: Masataka Okabe and Kei Ito's colours, which colour-blind readers can tell apart, without yellow and
/// with grey.
pub(super) fn colour(number: usize) -> RGBColor {
    const COLOURS: [(u8, u8, u8); 7] =
        [(0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (230, 159, 0), (86, 180, 233), (127, 127, 127)];
    let (red, green, blue) = COLOURS[number % COLOURS.len()];
    RGBColor(red, green, blue)
}

const WIDTH: u32 = 520;
const HEIGHT: u32 = 360;

impl Chart {
    /// The image; none without a point to show.
    pub fn drawing(&self) -> Option<Drawing> {
        let has_points = |&line: &usize| !self.shown(line).is_empty();
        let lines: Vec<usize> = (0..self.lines.len()).filter(has_points).collect();
        if lines.is_empty() {
            return None;
        }
        let (mut svg, mut points) = (String::new(), Vec::new());
        {
            let area = SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT)).into_drawing_area();
            let drawn = area.fill(&WHITE).and_then(|()| self.draw(&area, &lines, &mut points));
            drawn.expect("a text takes all drawing");
        }
        // The page gives it its size.
        let size = format!(r#"width="{WIDTH}" height="{HEIGHT}" "#);
        Some(Drawing { svg: svg.replacen(&size, "", 1), lines, points })
    }

    /// The points of a line that can be shown.
    fn shown(&self, line: usize) -> Vec<(f64, f64)> {
        self.lines[line].points.iter().filter(|point| point.1.is_finite()).copied().collect()
    }

    fn draw(&self, area: &Area<'_, '_>, lines: &[usize], points: &mut Vec<(i32, i32, usize, f64, f64)>) -> Drawn {
        let all: Vec<_> = lines.iter().flat_map(|&line| self.shown(line)).collect();
        let bands = lines.iter().flat_map(|&line| &self.lines[line].band);
        let ends = bands.flat_map(|&(_, low, high)| [low, high]).filter(|y| y.is_finite());
        let (x0, x1) = range(all.iter().map(|p| p.0));
        let (y0, y1) = range(all.iter().map(|p| p.1).chain(ends));
        let room = 0.04 * (y1 - y0);
        let mut builder = ChartBuilder::on(area);
        builder.caption(&self.title, text(18)).margin(10).margin_right(24).x_label_area_size(54).y_label_area_size(66);
        let mut chart = builder.build_cartesian_2d(x0..x1, y0 - room..y1 + room)?;
        chart
            .configure_mesh()
            .x_desc(&self.x)
            .y_desc(&self.y)
            .x_labels(7)
            .label_style(text(14))
            .axis_desc_style(text(15))
            .light_line_style(TRANSPARENT)
            .bold_line_style(RGBColor(128, 128, 128).mix(0.3))
            .x_label_formatter(&|x| label(*x, x1 - x0))
            .y_label_formatter(&|y| label(*y, y1 - y0))
            .draw()?;
        for (at, word) in self.marks.iter().filter(|(at, _)| (x0..x1).contains(at)) {
            let ends = vec![(*at, y0 - room), (*at, y1 + room)];
            chart.draw_series([PathElement::new(ends, RGBColor(128, 128, 128).mix(0.6).stroke_width(1))])?;
            let style = text(11).color(&RGBColor(110, 110, 110)).transform(FontTransform::Rotate90);
            chart.draw_series([Text::new(word.clone(), (*at, y1 + room), style)])?;
        }
        // Lines are above all bands and marks.
        for &number in lines {
            let (line, colour) = (&self.lines[number], colour(self.lines[number].colour));
            let finite = line.band.iter().filter(|(_, low, high)| low.is_finite() && high.is_finite());
            chart.draw_series(finite.map(|&(x, low, high)| {
                PathElement::new(vec![(x, low), (x, high)], colour.mix(0.45).stroke_width(4))
            }))?;
            if line.marked {
                let marks = self.shown(number).into_iter().map(|point| Circle::new(point, 3, colour.filled()));
                chart.draw_series(marks)?;
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(lines: &[(&str, &[(f64, f64)])]) -> Option<Drawing> {
        let line = |(name, points): &(&str, &[(f64, f64)])| Line {
            name: (*name).to_owned(),
            colour: 0,
            dashes: 0,
            points: points.to_vec(),
            band: points.iter().map(|&(x, y)| (x, y - 1.0, f64::INFINITY)).collect(),
            marked: true,
        };
        let lines = lines.iter().map(line).collect();
        Chart { title: "Title <1>".into(), x: "x".into(), y: "y".into(), lines, marks: vec![(1.5, "fit".into())] }
            .drawing()
    }

    #[test]
    fn labels_have_the_digits_they_need() {
        let labels = |span: f64, values: [f64; 2]| values.map(|value| label(value, span));
        assert_eq!(labels(600.0, [-0.2, 150.0]), ["0", "150"]);
        assert_eq!(labels(1.4, [0.2, 1.2]), ["0.2", "1.2"]);
        assert_eq!(labels(0.03, [0.005, 0.01]), ["0.005", "0.010"]);
    }

    #[test]
    fn a_drawing_shows_every_line_that_has_points() {
        let lines: [(&str, &[_]); 4] =
            [("one", &[(1.0, 5.0), (2.0, 3e9)]), ("none", &[]), ("two", &[(1.0, 1.0)]), ("nan", &[(1.0, f64::NAN)])];
        let Drawing { svg, lines, points } = chart(&lines).unwrap();
        assert_eq!(lines, [0, 2]);
        let values: Vec<_> = points.iter().map(|&(_, _, line, x, y)| (line, x, y)).collect();
        assert_eq!(values, [(0, 1.0, 5.0), (0, 2.0, 3e9), (2, 1.0, 1.0)]);
        let [first, last] = [points[0], points[1]];
        assert!(first.0 < last.0 && first.1 > last.1, "{points:?}");
        assert!(svg.starts_with("<svg viewBox") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(svg.contains("Title &lt;1&gt;") && svg.contains("\nfit\n"), "{svg}");
        assert!(!chart(&[("flat", &[(1.0, 1.0)])]).unwrap().svg.contains("NaN"));
        assert!(chart(&[("empty", &[])]).is_none());
    }
}
