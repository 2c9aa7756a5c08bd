//! Drawings of tables.

use core::error::Error;

use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

use super::table::Lines;

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
    /// Whether equal ways up and across are equal factors, not equal amounts.
    pub logarithmic: bool,
    /// By legend.
    pub lines: Lines,
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
        let [(x0, x1), (y0, y1)] = [bounds(points().map(|p| p.0)), bounds(points().map(|p| p.1))];
        let mut svg = String::new();
        if self.logarithmic {
            let log = |least: f64, most: f64| ((least * 0.8).max(1e-3)..most * 1.25).log_scale();
            self.draw(&mut svg, log(x0, x1), log(y0, y1))?;
        } else {
            self.draw(&mut svg, 0.0..x1 * 1.05, 0.0..y1 * 1.1)?;
        }
        Ok(svg)
    }

    fn draw<A>(&self, svg: &mut String, across: A, up: A) -> Result<(), Box<dyn Error>>
    where
        A: AsRangedCoord<Value = f64>,
        A::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
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
    format!("{}", (value * 1000.0).round() / 1000.0)
}

fn bounds(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0_f64), |(least, most), value| {
        (least.min(value), most.max(value))
    })
}
