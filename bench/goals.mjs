// The speed that is to be reached, as ratios within one run, and what a run says of it.

const AT_MOST = '≤';
const AT_LEAST = '≥';

const PROGRAMS = [
  ['true', '/bin/true'],
  ['freestanding', 'a freestanding program'],
];

/**
 * `ours` is divided by the best of `peers`; without peers it is a goal by itself. `best` says which of
 * several peers is the best one.
 */
const GOALS = [
  ...PROGRAMS.flatMap(([name, program]) => {
    const blocked = { section: `calls ${name}`, key: 'blockedP50', unit: 'µs', relation: AT_MOST };
    return [
      {
        what: `launch() blocks, ${program}`,
        ours: 'launch',
        peers: ['node'],
        limit: 0.05,
        ...blocked,
      },
      {
        what: `launch() blocks, ${program}`,
        ours: 'launch',
        peers: ['bun'],
        limit: 0.4,
        ...blocked,
      },
      {
        what: `spawn() blocks, ${program}`,
        ours: 'spawn',
        peers: ['node'],
        limit: 0.3,
        ...blocked,
      },
      {
        what: `spawn() direct blocks, ${program}`,
        ours: 'direct',
        peers: ['node'],
        limit: 0.15,
        ...blocked,
      },
      {
        what: `spawn() direct blocks, ${program}`,
        ours: 'direct',
        peers: ['bun'],
        limit: 1,
        ...blocked,
      },
    ];
  }),
  ...['launch', 'spawn', 'direct'].map((ours) => ({
    what: `${nameCall(ours)} blocks at 1 GiB`,
    section: 'heap buffers 1',
    key: 'p50 1',
    unit: 'µs',
    ours,
    peers: ['node'],
    relation: AT_MOST,
    limit: 0.01,
  })),
  {
    what: 'spawn of child_process, registered, blocks at 1 GiB',
    section: 'drop-in 1',
    key: 'blocked',
    unit: 'µs',
    ours: 'registered',
    peers: ['node'],
    relation: AT_MOST,
    limit: 0.02,
  },
  ...[0, 1].flatMap((gibibytes) =>
    [
      ['spawnSync', 'sync'],
      ['execSync', 'shell'],
    ].map(([name, key]) => ({
      what: `${name} of child_process, registered, at ${gibibytes} GiB`,
      section: `drop-in ${gibibytes}`,
      key,
      unit: 'µs',
      ours: 'registered',
      peers: ['node'],
      relation: AT_MOST,
      limit: 1,
    })),
  ),
  ...PROGRAMS.flatMap(([name, program]) =>
    ['launch', 'spawn', 'direct'].map((ours) => ({
      what: `${nameCall(ours)} to exit seen, ${program}`,
      section: `calls ${name}`,
      key: 'exitedP50',
      unit: 'µs',
      ours,
      peers: ['c'],
      relation: AT_MOST,
      limit: name === 'true' ? 1.2 : 1.6,
    })),
  ),
  ...PROGRAMS.map(([name, program]) => ({
    what: `launch() verified at its exec, to exit seen, ${program}`,
    section: `verify ${name}`,
    key: 'exitedP50',
    unit: 'µs',
    ours: 'verified',
    peers: ['plain'],
    relation: AT_MOST,
    limit: 3,
  })),
  ...['launch', 'spawn'].flatMap((ours) => [
    {
      what: `${nameCall(ours)} blocks at 4 GiB, of an empty process`,
      section: 'heap buffers 4',
      key: 'growth 4',
      ours,
      relation: AT_MOST,
      limit: 1.3,
    },
    {
      what: `${nameCall(ours)} blocks at 15 000 descriptors, of an empty process`,
      section: 'descriptors',
      key: 'growth 15000',
      ours,
      relation: AT_MOST,
      limit: 1.3,
    },
  ]),
  ...[
    ['true', 'c', 0.85],
    ['true', 'bun', 1.2],
    ['true', 'node', 3],
    ['freestanding', 'c', 0.6],
    ['freestanding', 'bun', 2],
  ].map(([name, peer, limit]) => ({
    what: `launch() 8 in flight, ${new Map(PROGRAMS).get(name)}`,
    section: `throughput ${name}`,
    key: '8',
    unit: 'a second',
    digits: 0,
    ours: 'launch',
    peers: [peer],
    relation: AT_LEAST,
    limit,
  })),
  {
    what: 'run() to its report, /bin/true',
    section: 'run true',
    key: 'exitedP50',
    unit: 'µs',
    ours: 'run',
    peers: ['launch'],
    relation: AT_MOST,
    limit: 1.6,
  },
  {
    what: 'reading from a child',
    section: 'pipes',
    key: 'read',
    unit: 'GiB/s',
    digits: 2,
    ours: 'spawn',
    peers: ['node', 'bun'],
    relation: AT_LEAST,
    limit: 1,
  },
  {
    what: "import 'sallyport', over an empty module",
    section: 'import',
    key: 'overEmpty',
    unit: 'ms',
    ours: 'sallyport',
    relation: AT_MOST,
    limit: 8,
  },
  ...[
    ['idle', 'an idle machine', 0.1],
    ['crowd', 'with 10 000 connections', 0.33],
  ].map(([name, where, limit]) => ({
    what: `audit of every process, ${where}`,
    section: `audit-${name}`,
    key: 'p50',
    unit: 'ms',
    ours: 'bare',
    peers: ['lsof'],
    relation: AT_MOST,
    limit,
  })),
];

const PEER_NAMES = {
  plain: 'launch()',
  launch: 'launch()',
  node: 'Node',
  bun: 'Bun',
  c: 'C',
  lsof: 'lsof',
};

function nameCall(id) {
  return id === 'direct' ? 'spawn() direct' : `${id}()`;
}

/** The first section of that name in which all of these were measured: a ratio is of one run. */
function findValues(sections, { section: wanted, key, ours, peers = [] }) {
  for (const section of sections.filter(({ id }) => id === wanted)) {
    const values = [ours, ...peers].map(
      (id) => section.rows.find((row) => row.id === id)?.values?.[key],
    );
    if (values.every((value) => typeof value === 'number')) return values;
  }
  return undefined;
}

const round = (value, digits) => value.toFixed(digits);

/** Two digits that count: 0.027, 0.31, 1.2. */
const roundRatio = (value) => (value < 0.1 ? round(value, 3) : round(value, 2));

function evaluate(sections, goal) {
  const { what, peers = [], unit, digits = 1, relation, limit } = goal;
  const of = peers.map((id) => PEER_NAMES[id]).join(' and ');
  const bound =
    peers.length > 0
      ? `${limit} × ${peers.length > 1 ? 'the best of ' : ''}${of}`
      : `${limit} ${unit ?? '×'}`;
  const row = { what, target: `${relation} ${bound}` };
  const values = findValues(sections, goal);
  if (values === undefined) return { ...row, seen: 'not measured', met: '-' };
  const [ours, ...theirs] = values;
  const best = relation === AT_MOST ? Math.min(...theirs) : Math.max(...theirs);
  const reached = theirs.length > 0 ? ours / best : ours;
  const isMet = relation === AT_MOST ? reached <= limit : reached >= limit;
  const off = Math.round(Math.abs(reached / limit - 1) * 100);
  return {
    ...row,
    seen:
      theirs.length > 0
        ? `${roundRatio(reached)} × (${round(ours, digits)} of ${round(best, digits)} ${unit})`
        : `${round(reached, unit === 'ms' ? 1 : 2)} ${unit ?? '×'}`,
    met: isMet ? 'yes' : `no, ${off} % ${relation === AT_MOST ? 'over' : 'short'}`,
  };
}

/** Of each goal { what, target, seen, met }, all text. */
export function evaluateGoals(sections) {
  return GOALS.map((goal) => evaluate(sections, goal));
}
