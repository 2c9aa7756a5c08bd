//! Bar and line charts as SVG text, in one style: labels at the data in place of a legend,
//! the Okabe-Ito palette, no minor grid, and a caption that names CPU, date and command.
//!
//! Written for the reports of this repository.

use core::fmt::{self, Write as _};

const WIDTH: f64 = 700.0;
/// Height of the data area of line charts.
const HEIGHT: f64 = 300.0;
const LINE: f64 = 18.0;
const GREY: &str = "#999999";
/// Okabe-Ito colours without yellow, which is too light for lines on white.
const PALETTE: [&str; 5] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"];
/// Most series of a line chart.
pub const MAX_SERIES: usize = PALETTE.len();

/// Reason why a chart was not drawn.
pub type Error = &'static str;

/// Title above a chart, and caption below it.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Statement that the chart shows.
    pub title: &'a str,
    /// CPU, date and command.
    pub caption: &'a str,
}

/// One bar of a group.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Name, left of the bar.
    pub label: String,
    /// Length.
    pub value: f64,
    /// Whether the bar is coloured; the others are grey.
    pub highlighted: bool,
}

/// One line of a line chart.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name, right of the last point.
    pub label: String,
    /// Points in order.
    pub points: Vec<(f64, f64)>,
    /// Whether the line is grey, for something to compare with.
    pub reference: bool,
}

/// Scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// From 0.
    Linear,
    /// Equal distances for equal factors.
    Log,
}

/// One axis.
#[derive(Clone, Copy, Debug)]
pub struct Axis<'a> {
    /// Quantity and unit.
    pub label: &'a str,
    /// Scale.
    pub scale: Scale,
    /// Values with a tick; round numbers are chosen if there are none.
    pub ticks: &'a [f64],
}

/// Horizontal bars in named groups, on an axis from 0.
///
/// # Errors
/// [`Error`], if there is nothing to draw or a value is not finite.
pub fn bars(frame: Frame<'_>, label: &str, groups: &[(String, Vec<Bar>)]) -> Result<String, Error> {
    let all = || groups.iter().flat_map(|(_, bars)| bars);
    let axis = Axis {
        label,
        scale: Scale::Linear,
        ticks: &[],
    };
    let longest = all()
        .map(|bar| bar.label.len())
        .max()
        .ok_or("the chart has no data")?;
    let left = 30.0 + 7.5 * longest as f64;
    let x = Range::new(axis, all().map(|bar| bar.value), [left, WIDTH - 60.0])?;
    let height = LINE * (groups.len() as f64 * 1.6 + all().count() as f64);
    let mut svg = Svg::new(frame, height);
    svg.x_axis(&x, height);
    let mut y = TOP;
    for (name, bars) in groups {
        svg.text([16.0, y + 14.0], "start", "font-weight='bold'", name);
        y += 1.3 * LINE;
        for bar in bars {
            let (colour, end) = (
                if bar.highlighted { PALETTE[0] } else { GREY },
                x.at(bar.value),
            );
            svg.text([left - 8.0, y + 11.0], "end", "", &bar.label);
            svg.push(format_args!(
                "<rect x='{left:.1}' y='{y:.1}' width='{:.1}' height='{:.1}' fill='{colour}'/>",
                end - left,
                LINE - 4.0,
            ));
            let value = format!("{:.*}", if bar.value < 1.0 { 2 } else { 1 }, bar.value);
            svg.text([end + 5.0, y + 11.0], "start", "", &value);
            y += LINE;
        }
        y += 0.3 * LINE;
    }
    Ok(svg.finish())
}

/// Lines with their names at their ends.
///
/// # Errors
/// [`Error`]
pub fn lines(
    frame: Frame<'_>,
    x: Axis<'_>,
    y: Axis<'_>,
    series: &[Series],
) -> Result<String, Error> {
    if series.len() > MAX_SERIES {
        return Err("a line chart has at most five series");
    }
    let longest = series
        .iter()
        .map(|one| one.label.len())
        .max()
        .ok_or("the chart has no data")?;
    let right = WIDTH - 20.0 - 7.0 * longest as f64;
    let (mut svg, x, y) = plane(frame, [x, y], right, || {
        series.iter().flat_map(|one| one.points.iter().copied())
    })?;
    let mut labels = Vec::new();
    for (one, colour) in series.iter().zip(PALETTE) {
        let colour = if one.reference { GREY } else { colour };
        let mut path = String::new();
        for (n, point) in one.points.iter().enumerate() {
            let (at_x, at_y) = (x.at(point.0), y.at(point.1));
            let _ = write!(
                path,
                "{}{at_x:.1} {at_y:.1}",
                if n == 0 { "M" } else { "L" }
            );
            svg.push(format_args!(
                "<circle cx='{at_x:.1}' cy='{at_y:.1}' r='2.5' fill='{colour}'/>"
            ));
        }
        svg.push(format_args!(
            "<path d='{path}' fill='none' stroke='{colour}' stroke-width='2'/>"
        ));
        if let Some(last) = one.points.last() {
            labels.push((y.at(last.1), x.at(last.0), colour, &one.label));
        }
    }
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = f64::NEG_INFINITY;
    for (at_y, at_x, colour, label) in labels {
        let at_y = at_y.max(free);
        svg.text(
            [at_x + 8.0, at_y + 4.0],
            "start",
            &format!("fill='{colour}'"),
            label,
        );
        free = at_y + 15.0;
    }
    Ok(svg.finish())
}

const TOP: f64 = 44.0;

/// A drawing with two axes.
fn plane<'a, I: Iterator<Item = (f64, f64)>>(
    frame: Frame<'_>,
    [x, y]: [Axis<'a>; 2],
    right: f64,
    points: impl Fn() -> I,
) -> Result<(Svg, Range<'a>, Range<'a>), Error> {
    let x = Range::new(x, points().map(|point| point.0), [70.0, right])?;
    let y = Range::new(y, points().map(|point| point.1), [TOP + HEIGHT, TOP + LINE])?;
    let mut svg = Svg::new(frame, HEIGHT);
    svg.x_axis(&x, HEIGHT);
    for tick in &y.ticks {
        let at = y.at(*tick);
        svg.push(format_args!(
            "<path d='M70 {at:.1}H{right:.1}' stroke='#dddddd'/>"
        ));
        svg.text([64.0, at + 4.0], "end", "", &number(*tick));
    }
    svg.text([16.0, TOP + 4.0], "start", "", y.axis.label);
    Ok((svg, x, y))
}

/// An axis with its values and its place.
struct Range<'a> {
    axis: Axis<'a>,
    values: [f64; 2],
    place: [f64; 2],
    ticks: Vec<f64>,
}

impl<'a> Range<'a> {
    fn new(
        axis: Axis<'a>,
        values: impl Iterator<Item = f64>,
        place: [f64; 2],
    ) -> Result<Self, Error> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            if !value.is_finite() || axis.scale == Scale::Log && value <= 0.0 {
                return Err("a value is not finite, or not positive on a logarithmic axis");
            }
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            return Err("the chart has no data");
        }
        let ticks = if !axis.ticks.is_empty() {
            axis.ticks.to_vec()
        } else if axis.scale == Scale::Log {
            let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
            decades.map(|exponent| 10_f64.powi(exponent)).collect()
        } else {
            let rough = high.max(1e-9) / 6.0;
            let power = 10_f64.powf(rough.log10().floor());
            let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
            let step = step
                .into_iter()
                .find(|step| *step >= rough)
                .unwrap_or(rough);
            (0..=(high / step).ceil() as u32)
                .map(|n| f64::from(n) * step)
                .collect()
        };
        let first = ticks.first().copied().unwrap_or(low);
        let last = ticks.last().copied().unwrap_or(high);
        let low = if axis.scale == Scale::Linear {
            0.0
        } else {
            low.min(first)
        };
        Ok(Self {
            axis,
            values: [low, high.max(last)],
            place,
            ticks,
        })
    }

    fn at(&self, value: f64) -> f64 {
        let scale = |value: f64| {
            if self.axis.scale == Scale::Log {
                value.ln()
            } else {
                value
            }
        };
        let [low, high] = self.values.map(scale);
        let share = (scale(value) - low) / (high - low).max(f64::MIN_POSITIVE);
        self.place[0] + share * (self.place[1] - self.place[0])
    }
}

/// SVG text that grows.
struct Svg {
    text: String,
    caption: String,
    height: f64,
}

impl Svg {
    fn new(frame: Frame<'_>, data: f64) -> Self {
        let height = TOP + data + 66.0;
        let mut svg = Self {
            text: String::new(),
            caption: frame.caption.to_owned(),
            height,
        };
        svg.push(format_args!(
            "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height:.0}' width='{WIDTH}' \
             height='{height:.0}' font-family='sans-serif' font-size='13'>\n\
             <rect width='100%' height='100%' fill='white'/>"
        ));
        svg.text(
            [16.0, 22.0],
            "start",
            "font-size='16' font-weight='bold'",
            frame.title,
        );
        svg
    }

    fn push(&mut self, element: fmt::Arguments<'_>) {
        let _ = self.text.write_fmt(element);
        self.text.push('\n');
    }

    fn text(&mut self, [x, y]: [f64; 2], anchor: &str, style: &str, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        self.push(format_args!(
            "<text x='{x:.1}' y='{y:.1}' text-anchor='{anchor}' {style}>{text}</text>"
        ));
    }

    fn x_axis(&mut self, x: &Range<'_>, data: f64) {
        for tick in &x.ticks {
            let at = x.at(*tick);
            self.push(format_args!(
                "<path d='M{at:.1} {TOP}v{data:.1}' stroke='#dddddd'/>"
            ));
            self.text([at, TOP + data + 16.0], "middle", "", &number(*tick));
        }
        let middle = (x.place[0] + x.place[1]) / 2.0;
        self.text([middle, TOP + data + 34.0], "middle", "", x.axis.label);
    }

    fn finish(mut self) -> String {
        let (caption, y) = (core::mem::take(&mut self.caption), self.height - 10.0);
        self.text(
            [16.0, y],
            "start",
            "font-size='11' fill='#555555'",
            &caption,
        );
        self.text.push_str("</svg>\n");
        self.text
    }
}

/// Three significant digits, without trailing zeros; groups of three digits from 10,000 on.
#[must_use]
pub fn number(value: f64) -> String {
    if value.abs() >= 999.5 {
        let digits = format!("{value:.0}");
        let mut text = String::new();
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && digits.len() > 4 && (digits.len() - place).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        return text;
    }
    let exponent = value.abs().max(1e-6).log10().floor() as i32;
    let text = format!("{value:.*}", usize::try_from(2 - exponent).unwrap_or(0));
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame<'_> = Frame {
        title: "a < b & c",
        caption: "a CPU, a day",
    };
    const LOG: Axis<'_> = Axis {
        label: "us",
        scale: Scale::Log,
        ticks: &[1.0, 2.0, 1024.0],
    };
    const LINEAR: Axis<'_> = Axis {
        label: "%",
        scale: Scale::Linear,
        ticks: &[],
    };

    fn series(label: &str, points: &[(f64, f64)]) -> Series {
        Series {
            label: label.into(),
            points: points.into(),
            reference: false,
        }
    }

    #[test]
    fn every_label_is_written_once() {
        let bar = |label: &str, value| Bar {
            label: label.into(),
            value,
            highlighted: false,
        };
        let groups = [(
            "verify".into(),
            vec![bar("first", 10.14), bar("other", 1.0)],
        )];
        let svg = bars(FRAME, "times", &groups).unwrap();
        for text in [
            "a &lt; b &amp; c",
            "a CPU, a day",
            "verify",
            "first",
            ">10.1<",
            "other",
            ">times<",
        ] {
            assert_eq!(svg.matches(text).count(), 1, "{text}");
        }
        let svg = lines(
            FRAME,
            LOG,
            LINEAR,
            &[series("one", &[(1.0, 5.0), (1024.0, 3.0)])],
        )
        .unwrap();
        for text in [">one<", ">1024<", ">2<", ">%<"] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn faulty_data_is_an_error() {
        assert!(bars(FRAME, "", &[]).is_err());
        assert!(lines(FRAME, LOG, LINEAR, &[]).is_err());
        assert!(lines(FRAME, LOG, LINEAR, &[series("zero", &[(0.0, 1.0)])]).is_err());
        assert!(lines(FRAME, LOG, LINEAR, &[series("nan", &[(1.0, f64::NAN)])]).is_err());
        let many = vec![series("s", &[(1.0, 1.0)]); MAX_SERIES + 1];
        assert!(lines(FRAME, LOG, LINEAR, &many).is_err());
    }

    #[test]
    fn numbers() {
        let texts = [0.0, 0.042, 1.5, 12.34, 999.0, 1024.0, 12345.6].map(number);
        assert_eq!(
            texts,
            ["0", "0.042", "1.5", "12.3", "999", "1024", "12,346"]
        );
    }
}
