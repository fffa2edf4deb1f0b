/**
 * A whole game: the Referee deals and plays, and every seat asks the adviser what to do, with nothing but its own view.
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

/** So much for each move, whichever comes first. */
const SECONDS = 5;
/** Thinking aloud ends when the same move has been best so many times in a row. */
const SETTLED = 3;

const { values: given } = parseArgs({
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
  const budget: Budget = { time: { seconds: SECONDS }, iterations: given.iterations };
  const game = { game_id: given.game, players: Number(given.players) };
  const dealt = await service.deal({ game, ...seed(0) });
  console.log(`${given.game}, ${given.players} players, seed ${dealt.seed}`);

  let { record, to_act: toAct } = dealt;
  for (let moves = 0, over = false; !over; moves++) {
    const standing = { record };
    let action: Action__Output | null = null; // chance decides for itself
    if (toAct !== 'SEAT_UNSPECIFIED') {
      // All that the player gets: what his own seat sees.
      const [view] = (await service.views({ standing, seats: [toAct] })).views;
      if (!view) throw new Error(`${toAct} has no view`);
      if (moves === 0) await thinkAloud(service, view);
      const { suggestion } = await service.suggest({ view, budget }, SECONDS);
      if (!suggestion?.best) throw new Error(`no move for ${toAct}`);
      action = suggestion.best;
      console.log(`${toAct.slice(-1)}  ${told(suggestion)}`);
    }
    const played = await service.play({ standing, action, ...seed(moves) });
    ({ record, to_act: toAct, over } = played);
  }

  const standing = { record };
  const { points, win_shares: shares } = await service.result({ standing });
  console.log(`points ${points.join(' ')}`);
  console.log(`win ${shares.join(' ')}`);
  if (given.record) writeFileSync(given.record, (await service.record({ record })).text);
}

/** Shows how the answer grows, until it seems to stay. */
async function thinkAloud(service: Service, view: View__Output): Promise<void> {
  const request = { view, budget: { time: { seconds: SECONDS } }, interval: { nanos: 60_000_000 } };
  let last = '';
  let times = 0;
  for await (const { suggestion } of service.analyze(request, SECONDS)) {
    if (!suggestion) continue;
    console.log(`  thinking: ${told(suggestion)}`);
    const best = suggestion.best?.text ?? '';
    times = best === last ? times + 1 : 1;
    last = best;
    if (times === SETTLED) return; // and the search is stopped
  }
}

function told(suggestion: Suggestion__Output): string {
  const win = suggestion.candidates[0]?.win?.mean;
  const share = win === undefined ? '' : `  win ${(win * 100).toFixed(1)} %`;
  return `${suggestion.best?.text ?? ''}${share}  (${suggestion.iterations} iterations)`;
}

/** Of chance, so that a game can be had again. Where none is given, the server draws one that nobody can guess. */
function seed(move: number): { seed?: string } {
  return given.seed === undefined ? {} : { seed: String(BigInt(given.seed) + BigInt(move)) };
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && 'code' in error && 'details' in error;
}

const service = new Service(given.address, given.token);
try {
  await main(service);
} catch (error) {
  if (!isServiceError(error)) throw error;
  console.error(`${status[error.code]}: ${error.details}`);
  process.exitCode = 1;
} finally {
  service.close();
}
