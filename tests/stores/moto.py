# moto's own S3, one request at a time: it looks at a condition in one move and writes in the next, and
# requests in parallel would get between. Ends with whoever holds its standard input.
import logging, os, sys, threading
from werkzeug.serving import make_server
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

logging.getLogger("werkzeug").disabled = True
server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=False)
print(server.server_port, flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
server.serve_forever()
