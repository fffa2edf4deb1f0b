// The messages of the contract, and their JSON. This stands in for the library @bufbuild/protobuf (see ../protobuf.ts):
// the same functions for what the page uses, which is no binary format, no maps and no bytes.

import type { DescMessage, JsonValue, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { Duration } from "@bufbuild/protobuf/wkt";

// --- descriptors ---

interface EnumValue {
  name: string;
  number: number;
}

class Enum {
  readonly typeName: string;
  /** The values; each has its place for a number, as the build sees to. */
  readonly values: EnumValue[];
  readonly value: EnumValue[];
  readonly sharedPrefix: string;

  constructor(scope: string, name: string, words: string[]) {
    this.typeName = scope + name;
    const prefix = prefixOf(name);
    this.values = this.value = words.map((word, number) => ({ name: prefix + word, number }));
    this.sharedPrefix = prefix.toLowerCase();
  }
}

/** Return the beginning of the names of an enum's values: "SEAT_". */
export const prefixOf = (name: string): string => `${name.replace(/\B[A-Z]/g, "_$&").toUpperCase()}_`;

/** A field in the words of the build: "hand:Card*|cards" is a list of messages and a member of the group "cards". */
const FIELD = /^(\w+):([\w.]+)(!?)(\*?)(\??)(?:\|(\w+))?$/;

class Field {
  readonly name: string;
  readonly localName: string;
  readonly jsonName: string;
  readonly type: number;
  readonly isList: boolean;
  readonly isOptional: boolean;
  /** The name of the group of which at most one field is set. */
  readonly oneof: string | undefined;
  readonly #typeName: string;

  constructor(scope: string, word: string) {
    const [, name = "", kind = "", isEnum, isList, isOptional, oneof] = FIELD.exec(word)!;
    const isScalar = /^\d+$/.test(kind);
    this.name = name;
    this.localName = this.jsonName = camelCase(name);
    this.type = isScalar ? Number(kind) : isEnum ? ENUM : MESSAGE;
    this.isList = isList !== "";
    this.isOptional = isOptional !== "";
    this.oneof = oneof === undefined ? undefined : camelCase(oneof);
    this.#typeName = absolute(scope, kind);
  }

  get fieldKind(): string {
    return this.isList ? "list" : this.type === ENUM ? "enum" : this.type === MESSAGE ? "message" : "scalar";
  }

  get message(): Message | undefined {
    return this.type === MESSAGE ? messages.get(this.#typeName) : undefined;
  }

  get enum(): Enum | undefined {
    return this.type === ENUM ? enums.get(this.#typeName) : undefined;
  }
}

class Message {
  readonly typeName: string;
  readonly fields: Field[];
  readonly messages: Message[] = [];

  constructor(scope: string, name: string, fields: string[]) {
    this.typeName = scope + name;
    this.fields = fields.map((word) => new Field(scope, word));
    messages.set(this.typeName, this);
  }
}

interface Method {
  name: string;
  methodKind: string;
  input: Message;
  output: Message;
}

export interface Service {
  typeName: string;
  /** The methods by the names that the page calls. */
  method: Record<string, Method>;
}

interface File {
  messages: Message[];
  enums: Enum[];
  services: Service[];
}

const MESSAGE = 11;
const ENUM = 14;
const STRING = 9;
const BOOL = 8;
const FRACTIONS = new Set([1, 2]);
const LONG_INTEGERS = new Set([3, 4, 6, 16, 18]);

const messages = new Map<string, Message>();
const enums = new Map<string, Enum>();

const camelCase = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

// The generated modules call these functions.

/** Read a file in the lines of the build (../protobuf.ts). A type of another package begins with a dot. */
export function fileDesc(text: string): File {
  const [scopeName, ...lines] = text.split("\n");
  const scope = `${scopeName}.`;
  const file: File = { messages: [], enums: [], services: [] };
  for (const line of lines) {
    const [what, name = "", ...words] = line.split(" ");
    if (what === "message") {
      const message = new Message(scope, name, words);
      const outer = messages.get(scope + name.replace(/\.?\w+$/, ""));
      (outer ?? file).messages.push(message);
    } else if (what === "enum") {
      const values = new Enum(scope, name, words);
      enums.set(values.typeName, values);
      file.enums.push(values);
    } else {
      file.services.push({ typeName: scope + name, method: Object.fromEntries(words.map((word) => methodOf(scope, word))) });
    }
  }
  return file;
}

function methodOf(scope: string, word: string): [string, Method] {
  const name = word.replace("*", "");
  const methodKind = name === word ? "unary" : "server_streaming";
  const messageOf = (what: string) => messages.get(scope + name + what)!;
  return [name[0]!.toLowerCase() + name.slice(1), { name, methodKind, input: messageOf("Request"), output: messageOf("Response") }];
}

const absolute = (scope: string, type: string): string => (type.startsWith(".") ? type.slice(1) : scope + type);

export const messageDesc = (file: File, index: number, ...path: number[]): Message =>
  path.reduce((message, next) => message.messages[next]!, file.messages[index]!);
export const enumDesc = (file: File, index: number): Enum => file.enums[index]!;
export const serviceDesc = (file: File, index: number): Service => file.services[index]!;

/** Return the numbers of an enum by their short names, and the names by the numbers: the object of a TypeScript enum. */
export function numbersOf(file: File, index: number): Record<string, number | string> {
  const { values, sharedPrefix } = file.enums[index]!;
  const words = values.map(({ name }) => name.slice(sharedPrefix.length));
  return Object.assign(Object.fromEntries(words.map((word, number) => [word, number])), words as Record<number, string>);
}

// --- well-known types ---

const DURATION = new Message("google.protobuf.", "Duration", ["seconds:3", "nanos:5"]);
/** Messages of games that the page does not know: it keeps their JSON. */
const ANY = new Message("google.protobuf.", "Any", []);

export const file_google_protobuf_any = null;
export const file_google_protobuf_duration = null;

export const durationFromMs = (ms: number): Duration =>
  make(DURATION, { seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1e6 }) as unknown as Duration;

function readDuration(json: unknown): Fields {
  const parts = /^(-?)(\d+)(?:\.(\d{1,9}))?s$/.exec(String(json)) ?? fail(json, "a duration");
  const [, sign = "", seconds = "", fraction = ""] = parts;
  const nanos = Number(sign + fraction.padEnd(9, "0"));
  return make(DURATION, { seconds: BigInt(sign + seconds), nanos });
}

function writeDuration({ seconds, nanos }: Fields): JsonValue {
  const fraction = String(Math.abs(Number(nanos))).padStart(9, "0").replace(/(000){1,3}$/, "");
  const sign = Number(nanos) < 0 && seconds === 0n ? "-" : "";
  return `${sign}${String(seconds)}${fraction === "" ? "" : `.${fraction}`}s`;
}

// --- messages ---

type Fields = Record<string, unknown>;
interface Member {
  case?: string;
  value?: unknown;
}

/** Return a message with these values; all others are unset. */
export const create = <Desc extends DescMessage>(type: Desc, values?: MessageInitShape<Desc>): MessageShape<Desc> =>
  make(type as unknown as Message, (values ?? {}) as Fields) as unknown as MessageShape<Desc>;

function make(type: Message, values: Fields): Fields {
  if (type === ANY || values["$typeName"] === type.typeName) return values;
  const message: Fields = { $typeName: type.typeName };
  for (const field of type.fields) {
    const { oneof, localName } = field;
    if (oneof === undefined) {
      const value = values[localName] ?? unset(field);
      if (value === undefined) continue;
      message[localName] = field.isList ? (value as unknown[]).map(made(field)) : made(field)(value);
    } else {
      const member = values[oneof] as Member | undefined;
      message[oneof] ??= { case: undefined };
      if (member?.case === localName) message[oneof] = { case: localName, value: made(field)(member.value) };
    }
  }
  return message;
}

const made =
  ({ message }: Field) =>
  (value: unknown): unknown =>
    message === undefined ? value : make(message, value as Fields);

/** Return the value of a field that is not set. */
function unset({ type, isList, isOptional }: Field): unknown {
  if (isList) return [];
  if (isOptional || type === MESSAGE) return undefined;
  if (type === STRING) return "";
  if (type === BOOL) return false;
  return LONG_INTEGERS.has(type) ? 0n : 0;
}

// --- JSON ---

/** Return the message of a JSON value; throw if that has another shape. */
export const fromJson = <Desc extends DescMessage>(type: Desc, json: JsonValue): MessageShape<Desc> =>
  readMessage(type as unknown as Message, json) as unknown as MessageShape<Desc>;

export const fromJsonString = <Desc extends DescMessage>(type: Desc, json: string): MessageShape<Desc> =>
  fromJson(type, JSON.parse(json) as JsonValue);

/** Return the JSON of a message, without the fields that are not set. */
export const toJson = <Desc extends DescMessage>(type: Desc, message: MessageShape<Desc>): JsonValue =>
  writeMessage(type as unknown as Message, message as unknown as Fields);

export const toJsonString = <Desc extends DescMessage>(type: Desc, message: MessageShape<Desc>): string =>
  JSON.stringify(toJson(type, message));

const fail = (json: unknown, expected: string): never => {
  throw new TypeError(`${JSON.stringify(json)} is not ${expected}`);
};

function readMessage(type: Message, json: unknown): Fields {
  if (type === DURATION) return readDuration(json);
  if (typeof json !== "object" || json === null || Array.isArray(json)) return fail(json, `a ${type.typeName}`);
  if (type === ANY) return json as Fields;
  const values: Fields = {};
  for (const [name, value] of Object.entries(json)) {
    const field = type.fields.find((each) => each.jsonName === name || each.name === name);
    if (field === undefined) return fail(name, `a field of ${type.typeName}`);
    if (value === null) continue;
    const read = readField(field, value);
    values[field.oneof ?? field.localName] = field.oneof === undefined ? read : { case: field.localName, value: read };
  }
  return make(type, values);
}

function readField(field: Field, json: unknown): unknown {
  if (!field.isList) return readOne(field, json);
  return Array.isArray(json) ? json.map((each) => readOne(field, each)) : fail(json, `a list of ${field.name}`);
}

function readOne({ name, type, message, enum: values }: Field, json: unknown): unknown {
  if (message !== undefined) return readMessage(message, json);
  if (values !== undefined) {
    if (Number.isInteger(json)) return json;
    return values.values.find((value) => value.name === json)?.number ?? fail(json, `a ${values.typeName}`);
  }
  if (type === STRING) return typeof json === "string" ? json : fail(json, `a text (${name})`);
  if (type === BOOL) return typeof json === "boolean" ? json : fail(json, `true or false (${name})`);
  if (FRACTIONS.has(type)) return isNumber(json) ? Number(json) : fail(json, `a number (${name})`);
  if (!isNumber(json) || !/^-?\d+$/.test(String(json))) return fail(json, `a whole number (${name})`);
  return LONG_INTEGERS.has(type) ? BigInt(json) : Number(json);
}

function isNumber(json: unknown): json is number | string {
  const isText = typeof json === "string" && (json === "NaN" || (json.trim() !== "" && !Number.isNaN(Number(json))));
  return isText || typeof json === "number";
}

function writeMessage(type: Message, message: Fields): JsonValue {
  if (type === DURATION) return writeDuration(message);
  if (type === ANY) return message as JsonValue;
  const json: Record<string, JsonValue> = {};
  for (const field of type.fields) {
    const value = valueOf(message, field);
    if (value === undefined) continue;
    const list = field.isList ? (value as unknown[]) : null;
    json[field.jsonName] = list === null ? writeOne(field, value) : list.map((each) => writeOne(field, each));
  }
  return json;
}

/** Return the value of a field; undefined if it is not set. */
function valueOf(message: Fields, field: Field): unknown {
  if (field.oneof !== undefined) {
    const member = message[field.oneof] as Member;
    return member.case === field.localName ? member.value : undefined;
  }
  const value = message[field.localName];
  const isUnset = field.isList ? (value as unknown[]).length === 0 : value === unset(field);
  return isUnset ? undefined : value;
}

function writeOne({ message, enum: values }: Field, value: unknown): JsonValue {
  if (message !== undefined) return writeMessage(message, value as Fields);
  if (values !== undefined) return values.value[value as number]?.name ?? (value as number);
  if (typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value))) return String(value);
  return value as JsonValue;
}
