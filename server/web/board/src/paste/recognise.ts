// Pasted and dropped texts are recognised as links of this page, JSON, records, or views and positions in notation.

import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { PositionSchema, type Position } from "../../generated/eminence/v1/referee_pb";
import { ViewSchema, type View } from "../../generated/eminence/v1/view_pb";
import { CallError } from "../connect";

export type Piece =
  | { kind: "link"; fragment: string }
  | { kind: "record"; text: string }
  | { kind: "view"; text: string }
  | { kind: "position"; text: string }
  | { kind: "viewMessage"; view: View }
  | { kind: "positionMessage"; position: Position }
  | { kind: "several"; texts: string[] };

/** The longest text that is read: that of the longest record. */
export const LONGEST = 64_000;

/** How JSON begins, and no text in notation. */
const JSON_TEXT = /^\s*[{["]/;
const LINK = /^(?:https?:\/\/\S*)?(#\/(?:play|analyse|review)(?:\?\S*)?)$/;
const RECORD = /^(?:game|version) /;
const SEEN = /\|\s*seen\s+by\b/;

/** Return what a text is. Anything else counts as a view: the server then says what it cannot read. */
export function recognise(text: string): Piece {
  const bare = text.trim();
  const link = LINK.exec(bare);
  if (link !== null) return { kind: "link", fragment: link[1]! };
  const fields = fieldsIn(bare);
  if (fields !== null) return ofJson(bare, fields);
  const lines = bare.split("\n").filter((line) => line.trim() !== "" && !line.trim().startsWith("#"));
  if (RECORD.test(lines[0]?.trim() ?? "")) return { kind: "record", text: bare };
  if (lines.length > 1 && lines.every((line) => line.includes("|"))) {
    return { kind: "several", texts: lines.map((line) => line.trim()) };
  }
  const joined = lines.join(" ").trim();
  const isView = SEEN.test(joined) || !/[|:>]/.test(joined);
  return isView ? { kind: "view", text: joined } : { kind: "position", text: joined };
}

/** Return the object of a JSON text; null of another text. Throw for other JSON, and for a text that is broken. */
export function fieldsIn(text: string): JsonObject | null {
  if (!JSON_TEXT.test(text)) return null;
  try {
    const json = JSON.parse(text) as JsonObject;
    if (text.trimStart().startsWith("{")) return json;
  } catch (error) {
    throw new CallError("INVALID_JSON", (error as Error).message);
  }
  throw new Error("JSON of a view, a position or a record is an object: {...}");
}

/** Tell views, positions and records apart as `eminence convert` does: by `@type`, else by their keys. */
function ofJson(text: string, { "@type": type, ...fields }: JsonObject): Piece {
  const name = typeof type === "string" ? type.split(".").at(-1)! : nameOf(fields);
  if (name === "Record") return { kind: "record", text };
  if (name === "Position") return { kind: "positionMessage", position: fromJson(PositionSchema, fields) };
  return { kind: "viewMessage", view: fromJson(ViewSchema, fields) };
}

function nameOf(fields: JsonObject): string {
  const text = typeof fields.text === "string" ? fields.text : "";
  if ("whole" in fields || "seen" in fields || "result" in fields || RECORD.test(text.trimStart())) return "Record";
  const hasSecrets = Object.values(fields).some((part) => part !== null && typeof part === "object" && "secrets" in part);
  return hasSecrets || (text !== "" && !SEEN.test(text)) ? "Position" : "View";
}
