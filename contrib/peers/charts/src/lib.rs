//! The chart of the report as SVG text, with a caption that names CPU, date and command.

use core::error::Error;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const WIDTH: u32 = 700;
/// Height of a bar.
const ROW: u32 = 18;
const GREY: RGBColor = RGBColor(0x99, 0x99, 0x99);
const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xb2);

/// Title above a chart, caption below it, and the quantity and unit of the values.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Statement that the chart shows.
    pub title: &'a str,
    /// The two lines below the chart: CPU and date, and the command.
    pub caption: [&'a str; 2],
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

/// Horizontal bars in named groups, on an axis from 0.
///
/// # Errors
/// If there is nothing to draw or a value is not finite.
pub fn bars(
    frame: Frame<'_>,
    label: &str,
    groups: &[(String, Vec<Bar>)],
) -> Result<String, Box<dyn Error>> {
    let all = || groups.iter().flat_map(|(_, bars)| bars);
    let most = largest(all().map(|bar| bar.value))?;
    let names = all().map(|bar| bar.label.len()).max().unwrap_or(0) as u32;
    // A row for each bar, and one and a half for the name of each group.
    let rows = all().count() as f64 + 1.5 * groups.len() as f64;
    let gap = most / 80.0;
    draw(frame, (rows * f64::from(ROW)) as u32, |area| {
        let mut chart = ChartBuilder::on(area)
            .margin_right(60)
            .x_label_area_size(40)
            .y_label_area_size(30 + 8 * names)
            .build_cartesian_2d(-gap..most + gap, 0.0..rows)?;
        let mut mesh = chart.configure_mesh();
        let mesh = mesh
            .disable_y_mesh()
            .disable_y_axis()
            .light_line_style(TRANSPARENT);
        mesh.x_desc(label)
            .x_label_formatter(&|x| number(*x))
            .draw()?;
        let write = |(x, y), text: &str, side, style| {
            let style =
                TextStyle::from(("sans-serif", 13, style)).pos(Pos::new(side, VPos::Center));
            chart.plotting_area().draw(&Text::new(text, (x, y), &style))
        };
        let mut y = rows;
        for (name, bars) in groups {
            write((-gap, y - 0.7), name, HPos::Right, FontStyle::Bold)?;
            y -= 1.5;
            for bar in bars {
                let colour = if bar.highlighted { BLUE } else { GREY };
                let corners = [(0.0, y + 0.4), (bar.value, y - 0.4)];
                chart
                    .plotting_area()
                    .draw(&Rectangle::new(corners, colour.filled()))?;
                let value = format!("{:.*}", if bar.value < 1.0 { 2 } else { 1 }, bar.value);
                write((-gap, y), &bar.label, HPos::Right, FontStyle::Normal)?;
                write((bar.value + gap, y), &value, HPos::Left, FontStyle::Normal)?;
                y -= 1.0;
            }
        }
        Ok(())
    })
}

/// The largest of the values, which have to be finite.
fn largest(mut values: impl Iterator<Item = f64>) -> Result<f64, Box<dyn Error>> {
    let finite = values.try_fold(f64::NEG_INFINITY, |most, value| {
        value.is_finite().then_some(most.max(value))
    });
    let most = finite.ok_or("a value is not finite")?;
    if most.is_finite() {
        Ok(most)
    } else {
        Err("the chart has no data".into())
    }
}

/// A drawing with title and caption around the data, which `data` draws.
fn draw(
    frame: Frame<'_>,
    height: u32,
    data: impl FnOnce(&DrawingArea<SVGBackend<'_>, Shift>) -> Result<(), Box<dyn Error>>,
) -> Result<String, Box<dyn Error>> {
    let mut svg = String::new();
    let height = height + 126;
    let area = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
    area.fill(&WHITE)?;
    let title = ("sans-serif", 17).into_font().style(FontStyle::Bold);
    area.draw(&Text::new(frame.title, (16, 12), title))?;
    let caption = ("sans-serif", 11).into_font();
    for (line, below) in frame.caption.into_iter().zip([34, 18]) {
        area.draw(&Text::new(
            line,
            (16, height as i32 - below),
            caption.clone(),
        ))?;
    }
    data(&area.margin(40, 42, 10, 0))?;
    area.present()?;
    drop(area);
    Ok(svg)
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
        caption: ["a CPU, a day", "a command"],
    };

    fn bar(label: &str, value: f64) -> Bar {
        Bar {
            label: label.into(),
            value,
            highlighted: false,
        }
    }

    #[test]
    fn every_label_is_written_once() {
        let groups = [(
            "verify".into(),
            vec![bar("first", 10.14), bar("other", 1.0)],
        )];
        let svg = bars(FRAME, "times", &groups).unwrap();
        let written = |svg: &str, text: &str| svg.lines().filter(|line| *line == text).count();
        for text in [
            "a &lt; b &amp; c",
            "a CPU, a day",
            "a command",
            "verify",
            "first",
            "10.1",
            "other",
            "times",
        ] {
            assert_eq!(written(&svg, text), 1, "{text}");
        }
    }

    #[test]
    fn faulty_data_is_an_error() {
        assert!(bars(FRAME, "", &[]).is_err());
        let groups = [("a".into(), vec![bar("b", f64::NAN)])];
        assert!(bars(FRAME, "", &groups).is_err());
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
