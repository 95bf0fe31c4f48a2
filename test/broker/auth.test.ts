// How a connection becomes one: auth first, in time, with the right token (semantics §3).
import { expect, test } from "bun:test";
import { token, World } from "../world.ts";

test("before auth every line gets auth_required, whatever it is, and the next try may be right", () => {
  const world = new World();
  world.play(`
    a>> {"v":2,"id":7,"type":"status"}
    a< {v: 2, id: 7, ok: false, error: {code: auth_required}}
    a>> this is no JSON
    a< {id: null, ok: false, error: {code: auth_required}}
    a>> {"v":1,"id":3,"type":"status"}
    a< {id: 3, error: {code: auth_required}}
    a>> {"v":2,"id":8,"type":"auth","token":"${token}"}
    a< {v: 2, id: 8, ok: true, result: {}}
    a>> {"v":2,"id":9,"type":"status"}
    a< ok {peers: [{handle: renn}]}
    a< nothing
  `);
});

for (const wrong of ["wrong", "", `${token}0`, token.slice(1), token.toUpperCase(), `${token.slice(0, -1)}1`])
  test(`a wrong token is told and the connection closed; nothing after it is answered: ${wrong}`, () => {
    const world = new World();
    const a = world.connect("a", { auth: false });
    a.post("auth", { token: wrong });
    a.post("auth", { token });
    world.settle();
    world.play(`
      a< bad_token
      a< closed
    `);
    expect(world.broker.bus.conns.size).toBe(0);
  });

test("whoever has not said the token after ten seconds is closed, and not before", () => {
  const world = new World();
  world.connect("quiet", { auth: false });
  world.connect("known");
  world.play(`
    +9999 ms
    quiet< nothing
  `);
  expect(world.connections.get("quiet")?.ended).toBe(false);
  world.play(`
    +1 ms
    quiet< closed
    known> status
    known< ok
  `);
});
