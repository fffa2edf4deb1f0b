// Reads lines "type JSON" and writes the JSON of each message again: a test compares it with protobuf's own.

import { fromJson, toJson, type DescMessage, type JsonValue } from "@bufbuild/protobuf";
import * as record from "./generated/eminence/v1/record_pb";
import * as rules from "./generated/eminence/v1/rules_pb";
import * as solver from "./generated/eminence/v1/solver_pb";
import * as table from "./generated/eminence/v1/table_pb";
import * as view from "./generated/eminence/v1/view_pb";

const types = new Map<string, DescMessage>();
for (const value of [record, rules, solver, table, view].flatMap((module) => Object.values(module) as unknown[])) {
  if (typeof value === "object" && value !== null && "fields" in value) {
    const type = value as DescMessage;
    types.set(type.typeName, type);
  }
}

/** Return the JSON of a message that is read from `line` and written again. */
export function echo(line: string): string {
  const [name, json] = [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" "))];
  const type = types.get(name);
  if (type === undefined) return `unknown type ${name}`;
  try {
    return JSON.stringify(toJson(type, fromJson(type, JSON.parse(json) as JsonValue)));
  } catch (error) {
    return `refused: ${String(error)}`;
  }
}
