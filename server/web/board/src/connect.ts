// The calls of the contract: the protocol Connect (https://connectrpc.com/docs/protocol) with JSON, over fetch.

import { create, fromJson, toJson, type DescMessage, type DescService, type JsonValue } from "@bufbuild/protobuf";
import type { DescMethodServerStreaming, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";

export interface CallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
}

type Call<Method> =
  Method extends DescMethodUnary<infer Input, infer Output>
    ? (request: MessageInitShape<Input>, options?: CallOptions) => Promise<MessageShape<Output>>
    : Method extends DescMethodServerStreaming<infer Input, infer Output>
      ? (request: MessageInitShape<Input>, options?: CallOptions) => AsyncIterable<MessageShape<Output>>
      : never;

/** The methods of a service. */
export type Client<Service extends DescService> = { [Name in keyof Service["method"]]: Call<Service["method"][Name]> };

/** A call that failed: its code in words of Connect, such as "unavailable", and its details in JSON, by their types. */
export class CallError extends Error {
  readonly code: string;
  readonly details: ReadonlyMap<string, JsonValue>;

  constructor(code: string, text: string, details: ReadonlyMap<string, JsonValue> = new Map()) {
    super(text);
    this.code = code;
    this.details = details;
  }

  /** Return what a call threw as such an error. */
  static from(error: unknown): CallError {
    if (error instanceof CallError) return error;
    const { name, message } = error instanceof Error ? error : { name: "", message: String(error) };
    return new CallError(CODES_OF_FETCH[name] ?? "unknown", message);
  }
}

const CODES_OF_FETCH: Record<string, string> = { AbortError: "canceled", TimeoutError: "deadline_exceeded" };
// The codes of answers that do not come from the handlers of the server.
const CODES_OF_HTTP: Record<number, string> = {
  401: "unauthenticated",
  403: "permission_denied",
  404: "unimplemented",
};

// A server that still starts, or has no free thread, refuses with these codes for a moment.
const PASSING = ["unavailable", "resource_exhausted"];
const RETRY_MS = [200, 500, 1000, 2000];

type Fields = Record<string, unknown>;

interface Method {
  path: string;
  isStream: boolean;
  input: DescMessage;
  output: DescMessage;
}

/** Return the calls of a service to the server that delivered the page. */
export function clientOf<Service extends DescService>(service: Service): Client<Service> {
  const calls = Object.entries(service.method).map(([name, each]) => {
    const { input, output, methodKind } = each;
    const isStream = methodKind === "server_streaming";
    const method = { path: `/${service.typeName}/${each.name}`, isStream, input, output };
    const call = isStream ? retried : answered;
    return [name, (request: Fields, options: CallOptions = {}) => call(method, request, options)];
  });
  return Object.fromEntries(calls) as Client<Service>;
}

async function answered(method: Method, request: Fields, options: CallOptions): Promise<object> {
  for await (const answer of retried(method, request, options)) return answer;
  throw new CallError("unknown", "the server did not answer");
}

/** Yield the answers to a call. Repeat it if the server refuses it only for the moment. */
async function* retried(method: Method, request: Fields, options: CallOptions): AsyncGenerator<object> {
  for (let tries = 0; ; tries++) {
    let isAnswered = false;
    try {
      for await (const json of answers(method, request, options)) {
        isAnswered = true;
        yield fromJson(method.output, json);
      }
      return;
    } catch (error) {
      const pause = RETRY_MS[tries];
      if (isAnswered || pause === undefined || !PASSING.includes(CallError.from(error).code)) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
      options.signal?.throwIfAborted();
    }
  }
}

/** Yield the answers to one request. */
async function* answers(method: Method, request: Fields, options: CallOptions): AsyncGenerator<JsonValue> {
  const { signal, timeoutMs } = options;
  const json = new TextEncoder().encode(JSON.stringify(toJson(method.input, create(method.input, request))));
  const headers = new Headers({ "connect-protocol-version": "1" });
  headers.set("content-type", method.isStream ? "application/connect+json" : "application/json");
  const signals = signal === undefined ? [] : [signal];
  if (timeoutMs !== undefined) {
    headers.set("connect-timeout-ms", String(timeoutMs));
    signals.push(AbortSignal.timeout(timeoutMs));
  }
  const body = method.isStream ? enveloped(json) : json;
  const response = await fetch(method.path, { method: "POST", headers, body, signal: AbortSignal.any(signals) });
  if (!response.ok) throw errorOf(await response.json().catch(() => null), response);
  if (!method.isStream) return yield (await response.json()) as JsonValue;
  for await (const { isEnd, text } of envelopes(response.body!)) {
    const message = JSON.parse(text) as JsonValue;
    if (!isEnd) yield message;
    else if (isObject(message) && message["error"] !== undefined) throw errorOf(message["error"], response);
    else return;
  }
  throw new CallError("unavailable", "the connection to the server broke");
}

const isObject = (json: unknown): json is Record<string, JsonValue> => typeof json === "object" && json !== null;

function errorOf(json: unknown, { status, statusText }: Response): CallError {
  if (!isObject(json)) return new CallError(CODES_OF_HTTP[status] ?? "unknown", statusText);
  const details = (json["details"] ?? []) as { type: string; debug?: JsonValue }[];
  const values = details.map(({ type, debug = null }): [string, JsonValue] => [type, debug]);
  return new CallError(String(json["code"]), String(json["message"] ?? ""), new Map(values));
}

// --- envelopes: one byte of flags, four of length, and the message ---

const HEAD_BYTES = 5;
const END_FLAG = 2;

function enveloped(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEAD_BYTES + message.length);
  new DataView(bytes.buffer).setUint32(1, message.length);
  bytes.set(message, HEAD_BYTES);
  return bytes;
}

async function* envelopes(body: ReadableStream<Uint8Array>): AsyncGenerator<{ isEnd: boolean; text: string }> {
  const reader = body.getReader();
  let held = new Uint8Array();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const joined = new Uint8Array(held.length + value.length);
      joined.set(held);
      joined.set(value, held.length);
      held = joined;
      for (let end; (end = endOf(held)) !== null; held = held.slice(end)) {
        yield { isEnd: (held[0]! & END_FLAG) !== 0, text: new TextDecoder().decode(held.subarray(HEAD_BYTES, end)) };
      }
    }
  } finally {
    reader.cancel().catch(() => undefined); // the page needs no more answers: the server ends its search
  }
}

/** Return the end of the first envelope; null if it has not arrived whole. */
function endOf(held: Uint8Array): number | null {
  if (held.length < HEAD_BYTES) return null;
  const end = HEAD_BYTES + new DataView(held.buffer).getUint32(1);
  return held.length < end ? null : end;
}
