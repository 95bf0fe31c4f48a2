// From a send to its push in another connection, to one and to two hundred; and a thousand waits that are answered one by one.
import { median, quantile } from "./lines.ts";
import { Peer } from "./peer.ts";
import { type Scratch, startBroker } from "./programs.ts";
import { floorBeside } from "./sends.ts";
import { atMost, known, ms, type Row, within } from "./table.ts";

type Push = { payload?: { message: { id: number } } };

/** Time from the send to the last push of it, in ms; each listener then confirms. */
async function sendAndHear(sender: Peer, listeners: readonly { peer: Peer; handle: string }[], body: string): Promise<number> {
  const heard = Promise.withResolvers<number>();
  let open = listeners.length;
  for (const { peer } of listeners)
    peer.onArrival = (at) => {
      peer.onArrival = null;
      if (--open === 0) heard.resolve(at);
    };
  const started = performance.now();
  await sender.call("send", { threadId: null, to: listeners.map(({ handle }) => handle), body });
  const last = await heard.promise;
  await Promise.all(listeners.map(({ peer }) => confirm(peer)));
  return last - started;
}

function confirm(peer: Peer): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  peer.onEvent = ({ payload }: Push) => {
    if (payload) resolve(peer.call("delivered", { ids: [payload.message.id] }));
  };
  peer.read();
  return promise;
}

/** Push times against the floor loop's durable answer, in turns with it, and the fan-out against one. */
export async function pushRows(scratch: Scratch, built: { floor: string }, rounds: number): Promise<Row[]> {
  const floor = await floorBeside(scratch, built);
  const broker = await startBroker(scratch);
  const sender = await Peer.connect(broker);
  await sender.call("register", { clientKind: "adapter", handle: "sender" });
  const listeners = await Promise.all(Array.from({ length: 200 }, (_, index) => Peer.session(broker, `listener-${index}`)));
  const one: number[] = [];
  const last: number[] = [];
  const answers: number[] = [];
  // Both compiled and warm before anything counts.
  await floor.answerMs(1000);
  for (let n = 0; n < 200; n++) await sendAndHear(sender, listeners.slice(0, 1), `To one, before, ${n}.`);
  for (let round = 0; round < rounds; round++) {
    for (let n = 0; n < 50; n++) one.push(await sendAndHear(sender, listeners.slice(0, 1), `To one, ${round}.${n}.`));
    answers.push(await floor.answerMs(50));
    for (let n = 0; n < 5; n++) last.push(await sendAndHear(sender, listeners, `To all, ${round}.${n}.`));
  }
  await broker.stop();
  await floor.stop();
  const [p50, durableSendMs] = [median(one), median(answers)];
  return [
    atMost("send → push on a listener, p50", ms(p50), `echo and one durable commit ${ms(durableSendMs)}`, p50 / durableSendMs, 2),
    atMost("one send to 200 listeners, last push, p50", ms(median(last)), `push to one ${ms(p50)}`, median(last) / p50, 10),
  ];
}

/** A thousand open waits: how soon each is answered after the reply that meets its condition. */
export async function waitRows(scratch: Scratch): Promise<Row[]> {
  const broker = await startBroker(scratch);
  const answerer = await Peer.connect(broker);
  await answerer.call("register", { clientKind: "adapter", handle: "answerer" });
  const waits: { messageId: number; answered: Promise<number> }[] = [];
  for (let index = 0; index < 1000; index++) {
    const asker = await Peer.connect(broker);
    await asker.call("register", { clientKind: "adapter", handle: `asker-${index}` });
    const { messageId, threadId } = await asker.call("send", { threadId: null, to: ["answerer"], body: `Question ${index}?` });
    const answered = asker.call("wait", { threadId, until: "all_replied" }).then((result) => {
      if (!result.conditionMet) throw new Error("a wait ended without its reply");
      return performance.now();
    });
    waits.push({ messageId, answered });
  }
  const whole: number[] = [];
  const after: number[] = [];
  for (const { messageId, answered } of waits) {
    const started = performance.now();
    await answerer.call("reply", { messageId, body: "Yes.", verdict: "agree" });
    const met = performance.now();
    const at = await answered;
    whole.push(at - started);
    // The reply is stored, and so the condition met, when its own answer comes; both leave together.
    after.push(Math.max(0, at - met));
  }
  await broker.stop();
  const p99 = quantile(after, 0.99);
  return [
    within("1,000 waits open: answer after the reply that meets it is stored, p99", ms(p99), p99, 5, "≤ 5 ms"),
    known("from the sending of that reply, with its commit, p50", ms(median(whole))),
  ];
}
