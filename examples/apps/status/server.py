"""Answers every request with one word: what a status page needs at the least."""

import http.server
import os


class Status(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"fine\n")


http.server.HTTPServer(("", int(os.environ.get("PORT", "8081"))), Status).serve_forever()
