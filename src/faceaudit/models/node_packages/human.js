// @vladmandic/human, as its users run it in node: its own detection and crop, on tfjs-wasm.
'use strict';

const fs = require('node:fs');
const path = require('node:path');

const EMOTIONS = ['angry', 'disgust', 'fear', 'happy', 'sad', 'surprise', 'neutral'];
// Of the face mesh: corners of the eyes, tip of the nose, corners of the mouth.
const LANDMARKS = [33, 133, 362, 263, 1, 61, 291];
// Where networks are read from, in this order.
const FOLDERS_OF_NETWORKS = ['human/models', 'human-models/models'];
const NETWORKS = 'http://networks/';
// No picture is like the one before; what is not about a face is not asked.
const SETTINGS = {
  backend: 'wasm',
  modelBasePath: NETWORKS,
  cacheModels: false,
  cacheSensitivity: 0,
  async: false,
  debug: false,
  warmup: 'none',
  body: { enabled: false },
  hand: { enabled: false },
  gesture: { enabled: false },
  object: { enabled: false },
  segmentation: { enabled: false },
};

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);

function merged(first, second) {
  const both = { ...first };
  for (const [key, value] of Object.entries(second)) {
    both[key] = isObject(value) && isObject(both[key]) ? merged(both[key], value) : value;
  }
  return both;
}

function readNetworksFrom(packages) {
  const forbidden = globalThis.fetch;
  globalThis.fetch = async (request) => {
    const url = typeof request === 'string' ? request : request.url;
    if (!url.startsWith(NETWORKS)) {
      return forbidden(url);
    }
    const name = path.basename(url);
    const files = FOLDERS_OF_NETWORKS.map((folder) => path.join(packages, folder, name));
    const file = files.find((one) => fs.existsSync(one));
    if (!file) {
      throw new Error(`there is no network ${name} in ${FOLDERS_OF_NETWORKS.join(' or ')}`);
    }
    const type = name.endsWith('.json') ? 'application/json' : 'application/octet-stream';
    return new Response(fs.readFileSync(file), { headers: { 'content-type': type } });
  };
}

// The side that the product tells: 1 is male, 0 is female, null is neither.
function saysMale(face) {
  if (face.gender !== 'male' && face.gender !== 'female') {
    return null;
  }
  return face.gender === 'male' ? 1 : 0;
}

// How sure it is of the side makes it P(male). One of its networks tells a side and no score.
function probabilityOfMale(face) {
  const side = saysMale(face);
  if (side === null || !Number.isFinite(face.genderScore)) {
    return null;
  }
  return 0.5 + (side - 0.5) * face.genderScore;
}

function valuesOf(face) {
  const values = {
    'P(male)': probabilityOfMale(face),
    'says male': saysMale(face),
    age: face.age ?? null,
  };
  const told = new Map((face.emotion ?? []).map(({ emotion, score }) => [emotion, score]));
  for (const emotion of EMOTIONS) {
    values[emotion] = told.get(emotion) ?? null;
  }
  values.real = face.real ?? null;
  values.live = face.live ?? null;
  for (const point of LANDMARKS) {
    const [x, y] = face.mesh?.[point] ?? [null, null];
    values[`x of landmark ${point}`] = x;
    values[`y of landmark ${point}`] = y;
  }
  return values;
}

exports.open = async (folder, settings) => {
  const modules = path.join(folder, 'node_modules');
  const packages = path.join(modules, '@vladmandic');
  readNetworksFrom(packages);
  const { Human } = require(path.join(packages, 'human/dist/human.node-wasm.js'));
  const wasmPath = path.join(modules, '@tensorflow/tfjs-backend-wasm/dist') + path.sep;
  const human = new Human(merged({ ...SETTINGS, wasmPath }, settings));
  await human.load();
  return async (rgb, height, width) => {
    const image = human.tf.tensor4d(rgb, [1, height, width, 3], 'float32');
    const result = await human.detect(image);
    human.tf.dispose(image);
    if (result.error) {
      throw new Error(result.error);
    }
    return result.face.length ? valuesOf(result.face[0]) : null;
  };
};
