"""One static HTML file that shows a session's results: no server, no request, nothing hostile alive."""
