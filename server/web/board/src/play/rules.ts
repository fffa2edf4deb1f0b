// The rules that a new table may have: an edition, and the switches that were changed.

import { create, fromJson, toJson, type DescField, type DescMessage, type JsonObject } from "@bufbuild/protobuf";
import { GameSpecSchema, RulesetSchema, type GameSpec, type Ruleset } from "../../generated/eminence/v1/view_pb";

/** Return the message of a game's switches; undefined for a game that has none. */
const switchesOf = (gameId: string): DescMessage | undefined =>
  RulesetSchema.fields.find((field) => field.name === gameId)?.message;

const fieldOf = (gameId: string, name: string): DescField | undefined =>
  switchesOf(gameId)?.fields.find((field) => field.name === name);

/** Return whether the contract can change a switch. */
export const canChange = (gameId: string, name: string): boolean => fieldOf(gameId, name) !== undefined;

/** Return a value of a switch, which is in text notation, as JSON of the contract. */
function jsonOf(field: DescField, value: string): string | number | boolean {
  if (field.fieldKind === "enum") {
    const ending = `_${value.toUpperCase().replaceAll("-", "_")}`;
    return field.enum.values.find((each) => each.name.endsWith(ending))?.name ?? value;
  }
  return value === "yes" || value === "no" ? value === "yes" : Number(value);
}

/** Return whether a game has tables that callers can replace: cards, and what belongs to them. */
export const hasTables = (gameId: string): boolean =>
  switchesOf(gameId)?.fields.some((field) => field.message !== undefined) ?? false;

/** Return the tables of an edition as JSON of the contract, to be changed. */
export function tablesIn(ruleset: Ruleset | undefined, gameId: string): string {
  const member = RulesetSchema.fields.find((field) => field.name === gameId)?.jsonName ?? "";
  const tables = ruleset === undefined ? {} : ((toJson(RulesetSchema, ruleset) as JsonObject)[member] ?? {});
  return JSON.stringify(tables, null, 1);
}

/** Return own tables from JSON: that of the game's message, or of a ruleset that holds it. Throws for broken JSON. */
function readTables(gameId: string, text: string): JsonObject {
  const { "@type": _, ...json } = JSON.parse(text) as JsonObject;
  const member = RulesetSchema.fields.find((field) => field.name === gameId);
  return ((json[member?.jsonName ?? ""] ?? json[gameId]) as JsonObject | undefined) ?? json;
}

/**
 * Return the game that a new table plays. `tables` is JSON of the game's own tables, or empty; `changes` are switches by
 * name, which count before it.
 */
export function gameSpec(
  gameId: string,
  edition: string,
  players: number,
  changes: Record<string, string>,
  tables = "",
): GameSpec {
  const json: JsonObject = tables.trim() === "" ? {} : readTables(gameId, tables);
  for (const [name, value] of Object.entries(changes)) {
    const field = fieldOf(gameId, name);
    if (field !== undefined && value !== "") json[field.jsonName] = jsonOf(field, value);
  }
  const member = RulesetSchema.fields.find((field) => field.name === gameId)?.jsonName;
  const ruleset: JsonObject = { edition };
  if (member !== undefined && Object.keys(json).length > 0) ruleset[member] = json;
  return create(GameSpecSchema, { gameId, players, ruleset: fromJson(RulesetSchema, ruleset) });
}

/** Return the value of a switch in an edition, in text notation; empty if it depends on more than the edition. */
export function valueIn(ruleset: Ruleset | undefined, gameId: string, name: string): string {
  const field = fieldOf(gameId, name);
  const changes = ruleset?.changes.value as Record<string, unknown> | undefined;
  const value = field === undefined ? undefined : changes?.[field.localName];
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number" && field?.fieldKind === "enum") {
    const prefix = field.enum.sharedPrefix?.toUpperCase() ?? "";
    return field.enum.value[value]?.name.slice(prefix.length).toLowerCase().replaceAll("_", "-") ?? "";
  }
  return typeof value === "number" ? String(value) : "";
}
