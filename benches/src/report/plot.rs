//! Drawings of tables.

use core::error::Error;

use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

use super::table::{Lines, thousands};

/// Lines of points.
#[derive(Clone, Debug)]
pub struct Plot {
    /// The name of its file, without the ending.
    pub name: &'static str,
    /// What is seen.
    pub title: &'static str,
    /// What goes across.
    pub x: &'static str,
    /// What goes up.
    pub y: &'static str,
    /// The axis across.
    pub across: Axis,
    /// The axis up.
    pub up: Axis,
    /// By legend.
    pub lines: Lines,
}

/// What equal ways along an axis are.
#[derive(Clone, Copy, Debug)]
pub enum Axis {
    /// Equal amounts.
    Linear,
    /// Equal factors.
    Logarithmic,
}

impl Plot {
    /// The drawing as SVG.
    ///
    /// # Errors
    /// If there is nothing to draw.
    pub fn svg(&self) -> Result<String, Box<dyn Error>> {
        let points = || self.lines.values().flatten();
        if points().next().is_none() {
            return Err(format!("nothing to draw in {}", self.name).into());
        }
        let (x, y) = (points().map(|point| point.0), points().map(|point| point.1));
        let ([x0, x1], [y0, y1]) = (bounds(x), bounds(y));
        let log = |least: f64, most: f64| ((least * 0.8).max(1e-6)..most * 1.25).log_scale();
        let room = ((x1 - x0) * 0.05).max(0.1);
        let (across, up) = (x0 - room..x1 + room, 0.0..y1 * 1.1);
        let mut svg = String::new();
        match (self.across, self.up) {
            (Axis::Linear, Axis::Linear) => self.draw(&mut svg, across, up),
            (Axis::Linear, Axis::Logarithmic) => self.draw(&mut svg, across, log(y0, y1)),
            (Axis::Logarithmic, Axis::Linear) => self.draw(&mut svg, log(x0, x1), up),
            (Axis::Logarithmic, Axis::Logarithmic) => self.draw(&mut svg, log(x0, x1), log(y0, y1)),
        }?;
        Ok(svg)
    }

    fn draw<A, B>(&self, svg: &mut String, across: A, up: B) -> Result<(), Box<dyn Error>>
    where
        A: AsRangedCoord<Value = f64>,
        A::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
        B: AsRangedCoord<Value = f64>,
        B::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        // The legend has its own room, so that it covers no point.
        let (drawing, legends) = (700, 240);
        let area = SVGBackend::with_string(svg, (drawing + legends, 460)).into_drawing_area();
        area.fill(&WHITE)?;
        let (left, right) = area.split_horizontally(drawing);
        let mut chart = ChartBuilder::on(&left)
            .caption(self.title, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(76)
            .build_cartesian_2d(across, up)?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .max_light_lines(2)
            .x_label_formatter(&|value| plain(*value))
            .y_label_formatter(&|value| plain(*value))
            .draw()?;
        for (index, (legend, points)) in self.lines.iter().enumerate() {
            let colour = Palette99::pick(index).stroke_width(2);
            let line = LineSeries::new(points.iter().copied(), colour.filled());
            chart.draw_series(line.point_size(3))?;
            let y = 46 + 20 * i32::try_from(index)?;
            right.draw(&PathElement::new([(0, y), (18, y)], colour))?;
            right.draw(&Circle::new((9, y), 3, colour.filled()))?;
            right.draw(&Text::new(legend.as_str(), (26, y - 6), ("sans-serif", 13)))?;
        }
        area.present()?;
        Ok(())
    }
}

/// A figure at an axis.
fn plain(value: f64) -> String {
    match value {
        1000.0.. => thousands(value.round() as u64),
        _ => format!("{}", (value * 1e6).round() / 1e6),
    }
}

fn bounds(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, 0_f64], |[least, most], value| {
        [least.min(value), most.max(value)]
    })
}

#[cfg(test)]
mod tests {
    use super::{Axis, Plot};
    use crate::report::table::Lines;

    fn plot(lines: Lines) -> Plot {
        Plot {
            name: "p",
            title: "a title",
            x: "across",
            y: "up",
            across: Axis::Linear,
            up: Axis::Logarithmic,
            lines,
        }
    }

    #[test]
    fn shows_every_legend() {
        let points = vec![(1.0, 10.0), (2.0, 12_000.0)];
        let lines = Lines::from([("one".into(), points), ("other".into(), vec![(1.0, 3.0)])]);
        let svg = plot(lines).svg().unwrap();
        for text in ["a title", "across", "up", "one", "other", "10,000"] {
            assert!(svg.contains(text), "{text}");
        }
    }

    #[test]
    fn says_when_there_is_nothing() {
        assert!(plot(Lines::new()).svg().is_err());
    }
}
