/**
 * Play a whole game: RefereeService deals and plays, SolverService suggests the moves of each seat from its view alone.
 *
 *     npm start -- --seed 7 --players 3
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { status, type ServiceError } from '@grpc/grpc-js';

import type { Action__Output } from '../generated/eminence/v1/Action.js';
import type { Budget } from '../generated/eminence/v1/Budget.js';
import type { Suggestion__Output } from '../generated/eminence/v1/Suggestion.js';
import type { View__Output } from '../generated/eminence/v1/View.js';
import { Service } from './service.js';

/** Time limit of each move, beside that of --iterations; the first limit reached ends the search. */
const SECONDS = 5;
/** Intermediate answers in a row with the same best move, after which the client cancels the stream. */
const STABLE_ANSWERS = 3;

const { values: options } = parseArgs({
  options: {
    address: { type: 'string', default: '127.0.0.1:50051' },
    token: { type: 'string', default: '' },
    game: { type: 'string', default: 'oriflamme' },
    players: { type: 'string', default: '3' },
    seed: { type: 'string' },
    iterations: { type: 'string', default: '2000' },
    record: { type: 'string' },
  },
});

async function main(service: Service): Promise<void> {
  const budget: Budget = { time: { seconds: SECONDS }, iterations: options.iterations };
  const game = { game_id: options.game, players: Number(options.players) };
  const dealt = await service.deal({ game, ...seed(0) });
  console.log(`${options.game}, ${options.players} players, seed ${dealt.seed}`);

  let { record, to_act: toAct } = dealt;
  for (let moves = 0, over = false; !over; moves++) {
    const standing = { record };
    let action: Action__Output | null = null; // without an action, the server plays chance
    if (toAct !== 'SEAT_UNSPECIFIED') {
      // SolverService gets only the view of the seat to act.
      const [view] = (await service.views({ standing, seats: [toAct] })).views;
      if (!view) throw new Error(`${toAct} has no view`);
      if (moves === 0) await showThinking(service, view);
      const { suggestion } = await service.suggest({ view, budget }, SECONDS);
      if (!suggestion?.best) throw new Error(`no move for ${toAct}`);
      action = suggestion.best;
      console.log(`${toAct.slice(-1)}  ${describe(suggestion)}`);
    }
    const played = await service.play({ standing, action, ...seed(moves) });
    ({ record, to_act: toAct, over } = played);
  }

  const standing = { record };
  const { points, win_shares: shares } = await service.result({ standing });
  console.log(`points ${points.join(' ')}`);
  console.log(`win ${shares.join(' ')}`);
  if (options.record) writeFileSync(options.record, (await service.record({ record })).text);
}

/** Print intermediate answers until the best move is stable. */
async function showThinking(service: Service, view: View__Output): Promise<void> {
  const request = { view, budget: { time: { seconds: SECONDS } }, interval: { nanos: 60_000_000 } };
  let last = '';
  let times = 0;
  for await (const { suggestion } of service.analyze(request, SECONDS)) {
    if (!suggestion) continue;
    console.log(`  thinking: ${describe(suggestion)}`);
    const best = suggestion.best?.text ?? '';
    times = best === last ? times + 1 : 1;
    last = best;
    if (times === STABLE_ANSWERS) return; // leaving the loop cancels the search
  }
}

function describe(suggestion: Suggestion__Output): string {
  const win = suggestion.candidates[0]?.win?.mean;
  const share = win === undefined ? '' : `  win ${(win * 100).toFixed(1)} %`;
  return `${suggestion.best?.text ?? ''}${share}  (${suggestion.iterations} iterations)`;
}

/** Return a seed of chance, which makes the game reproducible; without --seed, the server draws an unpredictable one. */
function seed(move: number): { seed?: string } {
  return options.seed === undefined ? {} : { seed: String(BigInt(options.seed) + BigInt(move)) };
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error;
}

const service = new Service(options.address, options.token);
try {
  await main(service);
} catch (error) {
  if (!isServiceError(error)) throw error;
  console.error(`${status[error.code]}: ${error.details}`);
  process.exitCode = 1;
} finally {
  service.close();
}
