// The calls of the contract: the protocol Connect (https://connectrpc.com/docs/protocol) with JSON, over fetch.

import { create, fromJson, toJson, type DescMessage, type DescService, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import type { DescMethodServerStreaming, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { Delay, delays, type Cause } from "./delays.svelte";
import { token } from "./token.svelte";

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

/** The code of a call whose answer did not come: the server is gone, or the connection broke. */
export const UNREACHABLE = "unreachable";

/**
 * A call that failed: its code in words of Connect, such as "unavailable", and its details in JSON, by their types.
 * Without an answer of the server, there is no text.
 */
export class CallError extends Error {
  readonly code: string;
  readonly details: ReadonlyMap<string, JsonValue>;

  constructor(code: string, text = "", details: ReadonlyMap<string, JsonValue> = new Map()) {
    super(text);
    this.code = code;
    this.details = details;
  }

  /** The reason of a refusal in words of the contract, such as OVERLOADED; else the code. */
  get reason(): string {
    const info = this.details.get("google.rpc.ErrorInfo") as JsonObject | undefined;
    return String(info?.["reason"] ?? this.code);
  }

  /** The time after which the server wants the call again; null if it does not say so. */
  get retryAfterMs(): number | null {
    const info = this.details.get("google.rpc.RetryInfo") as JsonObject | undefined;
    return info === undefined ? null : 1000 * Number.parseFloat(String(info["retryDelay"] ?? "0s"));
  }

  /** Return what a call threw as such an error. */
  static from(error: unknown): CallError {
    if (error instanceof CallError) return error;
    const { name, message } = error instanceof Error ? error : { name: "", message: String(error) };
    const code = CODES_OF_FETCH[name];
    return code === undefined ? new CallError("unknown", message) : new CallError(code);
  }
}

const CODES_OF_FETCH: Record<string, string> = { AbortError: "canceled", TimeoutError: "deadline_exceeded" };
// The codes of answers that do not come from the handlers of the server. Those of 502 to 504 come from a proxy before it.
const CODES_OF_HTTP: Record<number, string> = {
  401: "unauthenticated",
  403: "permission_denied",
  404: "unimplemented",
  502: UNREACHABLE,
  503: UNREACHABLE,
  504: UNREACHABLE,
};

// A server that is gone may be back soon; the last pause is repeated.
const RECONNECT_MS = [500, 1000, 2000, 5000];
// A busy server says when the page may repeat a call. After this number of tries, the page shows the refusal.
const BUSY_TRIES_MAX = 10;

type Fields = Record<string, unknown>;

interface Method {
  path: string;
  isStream: boolean;
  /** Whether a call that may have arrived can be made again. */
  isRepeatable: boolean;
  input: DescMessage;
  output: DescMessage;
}

/** Return the calls of a service to the server that delivered the page. Those in `onlyOnce` do more if repeated. */
export function clientOf<Service extends DescService>(service: Service, onlyOnce: readonly string[] = []): Client<Service> {
  const calls = Object.entries(service.method).map(([name, each]) => {
    const { input, output, methodKind } = each;
    const isStream = methodKind === "server_streaming";
    const path = `/${service.typeName}/${each.name}`;
    const method = { path, isStream, isRepeatable: !onlyOnce.includes(name), input, output };
    const call = isStream ? repeated : answered;
    return [name, (request: Fields, options: CallOptions = {}) => call(method, request, options)];
  });
  return Object.fromEntries(calls) as Client<Service>;
}

async function answered(method: Method, request: Fields, options: CallOptions): Promise<object> {
  for await (const answer of repeated(method, request, options)) return answer;
  throw new CallError(UNREACHABLE);
}

/** Yield the answers to a call. Repeat it while the server is gone or busy, and if it needs another token. */
async function* repeated(method: Method, request: Fields, options: CallOptions): AsyncGenerator<object> {
  const { signal } = options;
  const delay = new Delay();
  try {
    for (let tries = 0; ; tries++) {
      const sent = token.value;
      let isAnswered = false;
      try {
        for await (const json of answers(method, request, options)) {
          isAnswered = true;
          delays.remove(delay);
          yield fromJson(method.output, json);
        }
        return;
      } catch (error) {
        const failure = CallError.from(error);
        if (isAnswered || signal?.aborted) throw failure;
        if (failure.code === "unauthenticated" && (await token.another(sent, signal))) continue;
        const pause = pauseAfter(failure, method, tries);
        if (pause === null) throw failure;
        await delay.pause(pause.cause, pause.ms, signal);
        signal?.throwIfAborted();
      }
    }
  } finally {
    delays.remove(delay);
  }
}

/** Return how long to wait before a failed call is repeated; null if it is not: that would not help, or do harm. */
function pauseAfter(failure: CallError, method: Method, tries: number): { cause: Cause; ms: number } | null {
  if (failure.code === UNREACHABLE) {
    const ms = RECONNECT_MS[tries] ?? RECONNECT_MS.at(-1)!;
    return method.isRepeatable ? { cause: UNREACHABLE, ms } : null;
  }
  const ms = failure.retryAfterMs;
  const isOwnQuota = failure.reason === "QUOTA_EXHAUSTED"; // other calls of this page use it up, too
  return ms === null || isOwnQuota || tries >= BUSY_TRIES_MAX ? null : { cause: "busy", ms };
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
  if (token.value !== "") headers.set("authorization", `Bearer ${token.value}`);
  const body = method.isStream ? enveloped(json) : json;
  const all = { method: "POST", headers, body, signal: AbortSignal.any(signals) };
  const response = await arrived(fetch(method.path, all));
  if (!response.ok) throw errorOf(await response.json().catch(() => null), response);
  if (!method.isStream) return yield (await arrived(response.json())) as JsonValue;
  for await (const { isEnd, text } of envelopes(response.body!)) {
    const message = JSON.parse(text) as JsonValue;
    if (!isEnd) yield message;
    else if (isObject(message) && message["error"] !== undefined) throw errorOf(message["error"], response);
    else return;
  }
  throw new CallError(UNREACHABLE);
}

/** Return what the network brings; throw that the server is unreachable if it fails. */
async function arrived<Value>(promise: Promise<Value>): Promise<Value> {
  try {
    return await promise;
  } catch (error) {
    const isEnded = error instanceof Error && error.name in CODES_OF_FETCH;
    throw isEnded ? error : new CallError(UNREACHABLE);
  }
}

const isObject = (json: unknown): json is Record<string, JsonValue> => typeof json === "object" && json !== null;

function errorOf(json: unknown, { status, statusText }: Response): CallError {
  if (!isObject(json)) {
    const code = CODES_OF_HTTP[status] ?? "unknown";
    return new CallError(code, code === UNREACHABLE ? "" : statusText);
  }
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
      const { done, value } = await arrived(reader.read());
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
