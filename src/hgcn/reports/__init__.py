"""Reports: charts as SVG text, and a page of them in one HTML file that needs no network."""
