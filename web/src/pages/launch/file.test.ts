import { expect, test } from "vitest";
import { creationOf } from "./file";

const FILE = 'name = "x"\nsuite = "s"\n[[profiles]]\nname = "a"\nagent = "noop"\n';

test("a number that JSON does not have is refused by its place, and never sent as nothing", async () => {
  for (const [more, place] of [
    ["[budget]\ncost = nan\n", "budget.cost"],
    ["[budget]\ncost = -inf\n", "budget.cost"],
    ["[[profiles]]\nname = 'b'\nsampling = { temperature = inf }\n", "profiles.1.sampling.temperature"],
  ])
    await expect(creationOf({ text: FILE + more, scripts: {} })).rejects.toMatchObject({ where: place, status: 422 });
});

test("what JSON has is sent as it is written", async () => {
  const { spec } = await creationOf({ text: `${FILE}[budget]\ncost = "5 USD"\n`, scripts: {} });
  expect(spec).toMatchObject({ name: "x", budget: { cost: "5 USD" } });
});
