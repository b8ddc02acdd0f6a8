"""A proxy that makes every request take longer.

``python delay.py HOST PORT SECONDS`` prints its own port and serves until it is killed.
"""

from __future__ import annotations

import asyncio
import sys


async def _relay(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, state: dict[str, bool], seconds: float
) -> None:
    """One direction. ``seconds``: what the first bytes of a request wait; 0: this is the direction of the answers."""
    try:
        while data := await reader.read(2**16):
            if seconds and state["answered"]:
                state["answered"] = False
                await asyncio.sleep(seconds)
            elif not seconds:
                state["answered"] = True
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def _main(host: str, port: int, seconds: float) -> None:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        onward_reader, onward_writer = await asyncio.open_connection(host, port)
        state = {"answered": True}
        await asyncio.gather(_relay(reader, onward_writer, state, seconds), _relay(onward_reader, writer, state, 0.0))

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))
