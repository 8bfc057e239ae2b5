"""Pictures of parses and of relaxed permutations, as SVG and HTML, with the standard library alone."""

from permparse.drawing.heat import heat_map
from permparse.drawing.jumps import JumpPicture, jump_picture
from permparse.drawing.page import parse_html, standalone

__all__ = ["JumpPicture", "heat_map", "jump_picture", "parse_html", "standalone"]
