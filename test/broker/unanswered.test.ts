// What status tells of asks that nobody has answered: whoever waits for one who has left must see it (semantics §9).
import { test } from "bun:test";
import { World } from "../world.ts";

test("an ask is unanswered until its recipient acknowledges or answers it", () => {
  const world = new World();
  world.register("ann");
  world.register("bob");
  world.play(`
    ann> status {}
    ann< ok {peers: [{handle: renn, unanswered: 0}, {handle: ann, unanswered: 0}, {handle: bob, unanswered: 0}]}
    ann> send {threadId: null, to: bob, body: one}
    ann< ok {messageId: 1}
    ann> send {threadId: null, to: bob, body: two}
    ann< ok {messageId: 2}
    ann> status {}
    ann< ok {peers: [{handle: renn}, {handle: ann, unread: 0, unanswered: 0}, {handle: bob, unread: 2, unanswered: 2}]}
    bob> delivered {ids: [1]}
    bob< ok {}
    ann> status {}
    ann< ok {peers: [{handle: renn}, {handle: ann}, {handle: bob, unread: 2, unanswered: 2}]}
    bob> reply {messageId: 1, body: yes}
    bob< ok {}
    ann> status {}
    ann< ok {peers: [{handle: renn}, {handle: ann, unread: 1, unanswered: 0}, {handle: bob, unread: 1, unanswered: 1}]}
    bob> ack {ids: [2]}
    bob< ok {}
    ann> status {}
    ann< ok {peers: [{handle: renn}, {handle: ann}, {handle: bob, unread: 0, unanswered: 0}]}
  `);
});

test("one who has left still shows what it owes", () => {
  const world = new World();
  world.register("ann");
  const bob = world.register("bob");
  world.play(`
    ann> send {threadId: null, to: bob, body: one}
    ann< ok {messageId: 1}
  `);
  bob.close();
  world.play(`
    +10s
    ann> status {}
    ann< ok {peers: [{handle: renn}, {handle: ann}, {handle: bob, presence: offline, unread: 1, unanswered: 1}]}
  `);
});
