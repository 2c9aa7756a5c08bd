// Node: node.mjs serve|dial FOLDER PORT [mutual].
import fs from "node:fs";
import tls from "node:tls";

const [action, folder, port, mutual] = process.argv.slice(2);
const read = (name) => fs.readFileSync(`${folder}/${name}.pem`);
const options = { ca: read("root"), minVersion: "TLSv1.3" };
if (action === "serve" || mutual) Object.assign(options, { cert: read("chain"), key: read("key") });
if (action === "serve") {
  Object.assign(options, { requestCert: !!mutual, rejectUnauthorized: !!mutual });
  const server = tls.createServer(options, (socket) => {
    socket.once("data", () => socket.end("HTTP/1.0 200 OK\r\n\r\nhello, world"));
    server.close();
  });
  server.on("tlsClientError", (error) => {
    console.error(error.message);
    process.exit(1);
  });
  server.listen(Number(port), "127.0.0.1", () => console.log("listening"));
} else {
  const socket = tls.connect({ ...options, host: "127.0.0.1", port: Number(port), servername: "localhost" });
  socket.on("secureConnect", () => socket.write("GET / HTTP/1.0\r\n\r\n"));
  socket.on("data", (data) => console.log(String(data)));
  socket.on("end", () => console.log("Node", process.versions.node, "OpenSSL", process.versions.openssl));
  socket.on("error", (error) => {
    console.error(error.message);
    process.exit(1);
  });
}
