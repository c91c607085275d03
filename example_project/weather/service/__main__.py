"""Start the service: `python -m weather.service --port 8765`."""

import argparse
import sys
from datetime import date

from weather.service.answers import Settings
from weather.service.server import WeatherServer


def main() -> None:
    """Serve until interrupted; the first line written says where."""
    parser = argparse.ArgumentParser(prog="python -m weather.service", description=__doc__)
    parser.add_argument("--port", type=int, default=8765, help="where to listen, on 127.0.0.1; 0 takes a free port")
    parser.add_argument("--seed", type=int, default=Settings.seed, help="which weather")
    parser.add_argument("--today", type=date.fromisoformat, default=Settings.today, help="the day, as 2026-03-16")
    parser.add_argument("--broken-geocoder", action="store_true", help="no search for a place finds anything")
    options = parser.parse_args()
    settings = Settings(seed=options.seed, today=options.today, broken_geocoder=options.broken_geocoder)
    with WeatherServer(settings, port=options.port) as server:
        sys.stdout.write(f"listening on {server.url}\n")
        sys.stdout.flush()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
