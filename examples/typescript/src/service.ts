/**
 * Client of the service: typed calls with deadlines, retries, and a stream that leaving its loop cancels.
 *
 * It needs only the contract: it reads `proto/` at run time, and `npm run types` generates the types.
 */
import { fileURLToPath } from 'node:url';

import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

import type { AnalyzeRequest } from '../generated/eminence/v1/AnalyzeRequest.js';
import type { AnalyzeResponse__Output } from '../generated/eminence/v1/AnalyzeResponse.js';
import type { DealRequest } from '../generated/eminence/v1/DealRequest.js';
import type { DealResponse__Output } from '../generated/eminence/v1/DealResponse.js';
import type { GetRecordRequest } from '../generated/eminence/v1/GetRecordRequest.js';
import type { GetRecordResponse__Output } from '../generated/eminence/v1/GetRecordResponse.js';
import type { GetResultRequest } from '../generated/eminence/v1/GetResultRequest.js';
import type { GetResultResponse__Output } from '../generated/eminence/v1/GetResultResponse.js';
import type { GetViewsRequest } from '../generated/eminence/v1/GetViewsRequest.js';
import type { GetViewsResponse__Output } from '../generated/eminence/v1/GetViewsResponse.js';
import type { PlayRequest } from '../generated/eminence/v1/PlayRequest.js';
import type { PlayResponse__Output } from '../generated/eminence/v1/PlayResponse.js';
import type { RefereeServiceClient } from '../generated/eminence/v1/RefereeService.js';
import type { SolverServiceClient } from '../generated/eminence/v1/SolverService.js';
import type { SuggestRequest } from '../generated/eminence/v1/SuggestRequest.js';
import type { SuggestResponse__Output } from '../generated/eminence/v1/SuggestResponse.js';
import type { ProtoGrpcType as RefereeTypes } from '../generated/referee.js';
import type { ProtoGrpcType as SolverTypes } from '../generated/solver.js';

/** Timeout of calls without a search. */
const PROMPT_SECONDS = 10;
/** Time of a call beyond its budget: network and retries. */
const MARGIN_SECONDS = 10;

// gRPC retries after the pause that the server names (`grpc-retry-pushback-ms`), else with exponential backoff. It stops
// retrying while too many calls fail, which would add load to a server in trouble.
const SERVICE_CONFIG = JSON.stringify({
  methodConfig: [
    {
      name: [{ service: 'eminence.v1.SolverService' }, { service: 'eminence.v1.RefereeService' }],
      retryPolicy: {
        maxAttempts: 5,
        initialBackoff: '0.1s',
        maxBackoff: '2s',
        backoffMultiplier: 2,
        retryableStatusCodes: ['UNAVAILABLE', 'RESOURCE_EXHAUSTED'],
      },
    },
  ],
  retryThrottling: { maxTokens: 10, tokenRatio: 0.1 },
});

const PROTO = fileURLToPath(new URL('../../../proto/', import.meta.url));
const contract = grpc.loadPackageDefinition(
  loadSync(['eminence/v1/solver.proto', 'eminence/v1/referee.proto'], {
    includeDirs: [PROTO, `${PROTO}third_party/`],
    // The same options as in `npm run types`.
    keepCase: true,
    longs: String,
    enums: String,
    defaults: true,
    oneofs: true,
  }),
) as unknown as SolverTypes & RefereeTypes;

export class Service {
  readonly #solver: SolverServiceClient;
  readonly #referee: RefereeServiceClient;
  readonly #metadata = new grpc.Metadata();

  constructor(address: string, token = '') {
    // For a server on this machine; use grpc.credentials.createSsl() for others.
    const credentials = grpc.credentials.createInsecure();
    const options = { 'grpc.service_config': SERVICE_CONFIG };
    this.#solver = new contract.eminence.v1.SolverService(address, credentials, options);
    this.#referee = new contract.eminence.v1.RefereeService(address, credentials, options);
    if (token) this.#metadata.set('authorization', `Bearer ${token}`);
  }

  suggest(request: SuggestRequest, budgetSeconds: number): Promise<SuggestResponse__Output> {
    const options = within(budgetSeconds + MARGIN_SECONDS);
    return answer((done) => this.#solver.suggest(request, this.#metadata, options, done));
  }

  /** Yield intermediate answers; leaving the loop early cancels the search. */
  async *analyze(request: AnalyzeRequest, budgetSeconds: number): AsyncGenerator<AnalyzeResponse__Output> {
    const stream = this.#solver.analyze(request, this.#metadata, within(budgetSeconds + MARGIN_SECONDS));
    try {
      yield* stream;
    } finally {
      stream.on('error', () => {}); // ignore the error of the cancelled call
      stream.cancel();
    }
  }

  deal(request: DealRequest): Promise<DealResponse__Output> {
    return answer((done) => this.#referee.deal(request, this.#metadata, within(PROMPT_SECONDS), done));
  }

  play(request: PlayRequest): Promise<PlayResponse__Output> {
    return answer((done) => this.#referee.play(request, this.#metadata, within(PROMPT_SECONDS), done));
  }

  views(request: GetViewsRequest): Promise<GetViewsResponse__Output> {
    return answer((done) => this.#referee.getViews(request, this.#metadata, within(PROMPT_SECONDS), done));
  }

  result(request: GetResultRequest): Promise<GetResultResponse__Output> {
    return answer((done) => this.#referee.getResult(request, this.#metadata, within(PROMPT_SECONDS), done));
  }

  record(request: GetRecordRequest): Promise<GetRecordResponse__Output> {
    return answer((done) => this.#referee.getRecord(request, this.#metadata, within(PROMPT_SECONDS), done));
  }

  close(): void {
    this.#solver.close();
    this.#referee.close();
  }
}

function within(seconds: number): grpc.CallOptions {
  return { deadline: new Date(Date.now() + seconds * 1000) };
}

function answer<A>(begin: (done: grpc.requestCallback<A>) => grpc.ClientUnaryCall): Promise<A> {
  return new Promise((resolve, reject) => {
    begin((error, response) => {
      if (error) reject(error);
      else resolve(response as A);
    });
  });
}
