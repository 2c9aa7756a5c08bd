//! Drawings of tables.

use core::error::Error;
use std::collections::BTreeSet;

use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

use super::table::{Lines, thousands};

/// A caption and lines of points, by legend.
pub type Panel = (&'static str, Lines);

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
    /// Side by side, on the same axes; a legend has one colour in all of them.
    pub panels: Vec<Panel>,
}

/// What equal ways along an axis are.
#[derive(Clone, Copy, Debug)]
pub enum Axis {
    /// Equal amounts.
    Linear,
    /// Equal factors.
    Logarithmic,
    /// One place for each of these, the first at 0. Across only.
    Named(&'static [&'static str]),
}

impl Plot {
    /// The drawing as SVG.
    ///
    /// # Errors
    /// If there is nothing to draw.
    pub fn svg(&self) -> Result<String, Box<dyn Error>> {
        let points = || {
            self.panels
                .iter()
                .flat_map(|(_, lines)| lines.values().flatten())
        };
        if points().next().is_none() {
            return Err(format!("nothing to draw in {}", self.name).into());
        }
        let (x, y) = (points().map(|point| point.0), points().map(|point| point.1));
        let ([x0, x1], [y0, y1]) = (bounds(x), bounds(y));
        let log = |least: f64, most: f64| (least..most * 1.25).log_scale();
        let (from, low) = ((x0 * 0.8).max(1e-6), decade(y0));
        let room = ((x1 - x0) * 0.05).max(0.1);
        let across = match self.across {
            Axis::Named(names) => -0.3..names.len() as f64 - 0.7,
            _ => x0 - room..x1 + room,
        };
        let up = 0.0..y1 * 1.1;
        let mut svg = String::new();
        match (self.across, self.up) {
            (Axis::Logarithmic, Axis::Logarithmic) => {
                self.draw(&mut svg, log(from, x1), log(low, y1))
            }
            (Axis::Logarithmic, _) => self.draw(&mut svg, log(from, x1), up),
            (_, Axis::Logarithmic) => self.draw(&mut svg, across, log(low, y1)),
            _ => self.draw(&mut svg, across, up),
        }?;
        Ok(svg)
    }

    fn draw<A, B>(&self, svg: &mut String, across: A, up: B) -> Result<(), Box<dyn Error>>
    where
        A: AsRangedCoord<Value = f64> + Clone,
        A::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
        B: AsRangedCoord<Value = f64> + Clone,
        B::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        let legends = self.panels.iter().flat_map(|(_, lines)| lines.keys());
        let legends = BTreeSet::from_iter(legends);
        // The legend has its own room, so that it covers no point.
        let drawing = 700.max(280 * u32::try_from(self.panels.len())?);
        let area = SVGBackend::with_string(svg, (drawing + 240, 460)).into_drawing_area();
        area.fill(&WHITE)?;
        let (left, right) = area.split_horizontally(drawing);
        let left = left.titled(self.title, ("sans-serif", 20))?;
        let areas = left.split_evenly((1, self.panels.len()));
        for ((caption, lines), area) in self.panels.iter().zip(areas) {
            let mut chart = ChartBuilder::on(&area)
                .caption(caption, ("sans-serif", 15))
                .margin(12)
                .x_label_area_size(44)
                .y_label_area_size(76)
                .build_cartesian_2d(across.clone(), up.clone())?;
            chart
                .configure_mesh()
                .x_desc(self.x)
                .y_desc(self.y)
                .max_light_lines(2)
                .x_labels(self.marks())
                .x_label_formatter(&|value| self.mark(*value))
                .y_label_formatter(&|value| plain(*value))
                .draw()?;
            for (index, legend) in legends.iter().enumerate() {
                let points = lines.get(*legend).into_iter().flatten().copied();
                let line = LineSeries::new(points, colour(index).filled());
                chart.draw_series(line.point_size(3))?;
            }
        }
        for (index, legend) in legends.iter().enumerate() {
            let y = 46 + 20 * i32::try_from(index)?;
            right.draw(&PathElement::new([(0, y), (18, y)], colour(index)))?;
            right.draw(&Circle::new((9, y), 3, colour(index).filled()))?;
            right.draw(&Text::new(legend.as_str(), (26, y - 6), ("sans-serif", 13)))?;
        }
        area.present()?;
        Ok(())
    }

    /// Marks of the axis across, at most.
    fn marks(&self) -> usize {
        match self.across {
            Axis::Named(names) => names.len(),
            _ => 10,
        }
    }

    /// What is written at a mark of the axis across.
    fn mark(&self, value: f64) -> String {
        match self.across {
            Axis::Named(names) => names[value as usize].to_owned(),
            _ => plain(value),
        }
    }
}

/// Just below the power of ten that begins the decade of `least`: marks are drawn from the
/// first one on.
fn decade(least: f64) -> f64 {
    0.99 * 10_f64.powf(least.max(1e-6).log10().floor())
}

fn colour(index: usize) -> ShapeStyle {
    Palette99::pick(index).stroke_width(2)
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
    use super::{Axis, Panel, Plot};
    use crate::report::table::Lines;

    fn plot(panels: Vec<Panel>) -> Plot {
        Plot {
            name: "p",
            title: "a title",
            x: "across",
            y: "up",
            across: Axis::Linear,
            up: Axis::Logarithmic,
            panels,
        }
    }

    #[test]
    fn shows_every_legend_once() {
        let points = vec![(0.0, 10.0), (1.0, 12_000.0)];
        let first = Lines::from([("one".into(), points), ("other".into(), vec![(1.0, 3.0)])]);
        let second = Lines::from([("other".into(), vec![(0.0, 5.0)])]);
        let mut plot = plot(vec![("left", first), ("right", second)]);
        let svg = plot.svg().unwrap();
        for text in ["a title", "left", "right", "one", "10,000"] {
            assert!(svg.contains(text), "{text}");
        }
        assert_eq!(svg.matches("\nother\n").count(), 1);
        plot.across = Axis::Named(&["ML-DSA-44", "ML-DSA-65"]);
        assert!(plot.svg().unwrap().contains("ML-DSA-65"));
    }

    #[test]
    fn says_when_there_is_nothing() {
        assert!(plot(vec![("", Lines::new())]).svg().is_err());
        assert!(plot(Vec::new()).svg().is_err());
    }
}
