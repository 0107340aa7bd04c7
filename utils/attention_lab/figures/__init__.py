"""Data in, pictures out: charts with alt text made from the data. Loaded when needed: it imports matplotlib."""

from attention_lab.figures.base import (
    Chart,
    Picture,
    bar_chart,
    heat_map,
    line_chart,
    picture,
    short_number,
    side_by_side,
)

__all__ = ["Chart", "Picture", "bar_chart", "heat_map", "line_chart", "picture", "short_number", "side_by_side"]
