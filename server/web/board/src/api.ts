// The calls of the contract, over Connect, to the server that delivered the page.

import { BadRequestSchema, type BadRequest_FieldViolation } from "../generated/google/rpc/error_details_pb";
import { ErrorInfoSchema } from "../generated/google/rpc/error_details_pb";
import { Code, ConnectError, createClient, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { RulesService } from "../generated/eminence/v1/rules_pb";
import { SolverService } from "../generated/eminence/v1/solver_pb";
import { TableService } from "../generated/eminence/v1/table_pb";

const RETRY_MS = [200, 500, 1000, 2000];

// A server that still starts, or has no free thread, refuses with UNAVAILABLE or RESOURCE_EXHAUSTED for a moment.
const retry: Interceptor = (next) => async (request) => {
  for (const pause of RETRY_MS) {
    try {
      return await next(request);
    } catch (error) {
      const code = ConnectError.from(error).code;
      if (code !== Code.Unavailable && code !== Code.ResourceExhausted) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause));
      request.signal.throwIfAborted();
    }
  }
  return next(request);
};

const transport = createConnectTransport({ baseUrl: location.origin, interceptors: [retry] });

export const rules = createClient(RulesService, transport);
export const solver = createClient(SolverService, transport);
export const tables = createClient(TableService, transport);

/** A refusal of the server, in its own words. */
export interface Refusal {
  reason: string;
  text: string;
  fields: BadRequest_FieldViolation[];
}

/** Return the refusal of a failed call, or null if the page itself ended the call. */
export function refusalOf(error: unknown): Refusal | null {
  const failure = ConnectError.from(error);
  if (failure.code === Code.Canceled) return null;
  return {
    reason: failure.findDetails(ErrorInfoSchema)[0]?.reason ?? Code[failure.code],
    text: failure.rawMessage,
    fields: failure.findDetails(BadRequestSchema).flatMap((details) => details.fieldViolations),
  };
}
