// The calls of the contract, to the server that delivered the page, and its refusals.

import { fromJson, type JsonObject } from "@bufbuild/protobuf";
import { BadRequestSchema, type BadRequest_FieldViolation } from "../generated/google/rpc/error_details_pb";
import { RefereeService } from "../generated/eminence/v1/referee_pb";
import { RulesService } from "../generated/eminence/v1/rules_pb";
import { SolverService } from "../generated/eminence/v1/solver_pb";
import { TableService } from "../generated/eminence/v1/table_pb";
import { CallError, clientOf } from "./connect";

export const rules = clientOf(RulesService);
export const referee = clientOf(RefereeService);
export const solver = clientOf(SolverService);
export const tables = clientOf(TableService);

/** A refusal of the server, in its own words. */
export interface Refusal {
  reason: string;
  text: string;
  fields: BadRequest_FieldViolation[];
}

/** Return the refusal of a failed call, or null if the page itself ended the call. */
export function refusalOf(error: unknown): Refusal | null {
  const { code, message, details } = CallError.from(error);
  if (code === "canceled") return null;
  const info = details.get("google.rpc.ErrorInfo") as JsonObject | undefined;
  const request = details.get("google.rpc.BadRequest");
  return {
    reason: String(info?.["reason"] ?? code),
    text: message,
    fields: request === undefined ? [] : fromJson(BadRequestSchema, request).fieldViolations,
  };
}
