// node deadline_client.mjs MODULES ADDRESS SECONDS...: call Suggest with each deadline; print the codes as JSON. Standard
// input holds the request in base64. grpc-js sends deadlines in exact milliseconds; gRPC's C core does not.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const [modules, address, ...deadlines] = process.argv.slice(2);
const grpc = createRequire(`${modules}/`)("@grpc/grpc-js");
const request = Buffer.from(readFileSync(0, "utf8"), "base64");
const client = new grpc.Client(address, grpc.credentials.createInsecure());
const same = (bytes) => bytes;

function suggest(seconds) {
  return new Promise((resolve) => {
    const deadline = Date.now() + seconds * 1000;
    client.makeUnaryRequest("/eminence.v1.SolverService/Suggest", same, same, request, { deadline }, (error) =>
      resolve(error ? grpc.status[error.code] : "OK"),
    );
  });
}

await new Promise((resolve, reject) => client.waitForReady(Date.now() + 60_000, (e) => (e ? reject(e) : resolve())));
const codes = [];
for (const seconds of deadlines) codes.push(await suggest(Number(seconds)));
console.log(JSON.stringify(codes));
client.close();
