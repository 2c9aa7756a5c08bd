"""OpenSSL through pyOpenSSL: openssl.py serve|dial FOLDER PORT [mutual]."""
import pathlib
import socket
import sys

from OpenSSL import SSL

action, folder, port = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
mutual = sys.argv[4:] == ["mutual"]
context = SSL.Context(SSL.TLS_METHOD)
context.set_min_proto_version(SSL.TLS1_3_VERSION)
context.load_verify_locations(str(folder / "root.pem"))
if action == "serve" or mutual:
    context.use_certificate_chain_file(str(folder / "chain.pem"))
    context.use_privatekey_file(str(folder / "key.pem"))
if action == "dial" or mutual:
    context.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT)

if action == "serve":
    listener = socket.create_server(("127.0.0.1", port))
    print("listening", flush=True)
    connection = SSL.Connection(context, listener.accept()[0])
    connection.set_accept_state()
    connection.do_handshake()
    connection.recv(1024)
    connection.send(b"HTTP/1.0 200 OK\r\n\r\nhello, world")
    connection.shutdown()
else:
    connection = SSL.Connection(context, socket.create_connection(("127.0.0.1", port)))
    connection.set_tlsext_host_name(b"localhost")
    connection.set_connect_state()
    connection.do_handshake()
    connection.send(b"GET / HTTP/1.0\r\n\r\n")
    print(connection.recv(1024).decode())
peer = connection.get_peer_certificate()
print(SSL.SSLeay_version(0).decode(), peer and peer.to_cryptography().signature_algorithm_oid.dotted_string)
