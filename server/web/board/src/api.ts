// The calls of the contract, to the server that delivered the page, and its refusals.

import { fromJson } from "@bufbuild/protobuf";
import { BadRequestSchema, type BadRequest_FieldViolation } from "../generated/google/rpc/error_details_pb";
import { RefereeService } from "../generated/eminence/v1/referee_pb";
import { RulesService } from "../generated/eminence/v1/rules_pb";
import { SolverService } from "../generated/eminence/v1/solver_pb";
import { TableService } from "../generated/eminence/v1/table_pb";
import { CallError, clientOf } from "./connect";

export const rules = clientOf(RulesService);
export const referee = clientOf(RefereeService);
export const solver = clientOf(SolverService);
// A table that is opened twice stays open; the other calls that change one name its version, or have no more to do.
export const tables = clientOf(TableService, ["openTable"]);

/** A call that failed: its reason, what the server says, which is empty if it did not answer, and when to try again. */
export interface Refusal {
  reason: string;
  text: string;
  retryAfterMs: number | null;
  fields: BadRequest_FieldViolation[];
}

/** Return the refusal of a failed call, or null if the page itself ended the call. */
export function refusalOf(error: unknown): Refusal | null {
  const { code, reason, message, details, retryAfterMs } = CallError.from(error);
  if (code === "canceled") return null;
  const request = details.get("google.rpc.BadRequest");
  return {
    reason,
    text: message,
    retryAfterMs,
    fields: request === undefined ? [] : fromJson(BadRequestSchema, request).fieldViolations,
  };
}
