"""Results to look at: the HTML page of a comparison; with the extra ``report`` static charts."""

from rankwright.report.noise_chart import noise_chart
from rankwright.report.path_chart import path_chart
from rankwright.report.report import report_html, write_report

__all__ = ["noise_chart", "path_chart", "report_html", "write_report"]
