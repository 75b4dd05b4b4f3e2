#!/usr/bin/env python3
"""TLS before a PostgreSQL that was built without it, for the tests' second source of a server.

    tls_front.py PORT SERVER_PORT CERTIFICATE KEY PROCESS_FILE

Listens on 127.0.0.1:PORT, answers SSLRequest (PostgreSQL's documents, "SSL Session Encryption") and
hands what comes then, or what came without asking for TLS, to the server on SERVER_PORT. Once it listens, its
process number is in PROCESS_FILE. Needs Python 3.11.
"""
import asyncio
import os
import ssl
import struct
import sys

SSL_REQUEST, GSS_REQUEST = 80877103, 80877104
PORT, SERVER_PORT = int(sys.argv[1]), int(sys.argv[2])
TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
TLS.load_cert_chain(sys.argv[3], sys.argv[4])


async def opening(reader, writer):
    """The first packet that is no request for encryption."""
    while True:
        packet = await reader.readexactly(8)
        length, code = struct.unpack("!ii", packet)
        if length != 8 or code not in (SSL_REQUEST, GSS_REQUEST):
            return packet
        writer.write(b"S" if code == SSL_REQUEST else b"N")
        await writer.drain()
        if code == SSL_REQUEST:
            await writer.start_tls(TLS)


async def hand_on(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    finally:
        writer.close()


async def serve(reader, writer):
    try:
        first = await opening(reader, writer)
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", SERVER_PORT)
        server_writer.write(first)
        ways = hand_on(reader, server_writer), hand_on(server_reader, writer)
        await asyncio.gather(*ways, return_exceptions=True)
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def main():
    async with await asyncio.start_server(serve, "127.0.0.1", PORT) as front:
        with open(sys.argv[5], "w", encoding="ascii") as process_file:
            process_file.write(str(os.getpid()))
        await front.serve_forever()


asyncio.run(main())
