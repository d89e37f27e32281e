// @vladmandic/face-api, as its users run it in node: its larger detector, on tfjs-wasm.
'use strict';

const path = require('node:path');

const NETWORKS = ['ssdMobilenetv1', 'faceLandmark68Net', 'ageGenderNet', 'faceExpressionNet'];
// The package's names of expressions, and the usual ones.
const EMOTIONS = {
  angry: 'angry',
  disgusted: 'disgust',
  fearful: 'fear',
  happy: 'happy',
  sad: 'sad',
  surprised: 'surprise',
  neutral: 'neutral',
};

function valuesOf(face) {
  const isMale = face.gender === 'male';
  const probability = isMale ? face.genderProbability : 1 - face.genderProbability;
  const values = { 'P(male)': probability, 'says male': isMale ? 1 : 0, age: face.age };
  for (const [name, emotion] of Object.entries(EMOTIONS)) {
    values[emotion] = face.expressions[name];
  }
  return values;
}

exports.open = async (folder, settings) => {
  const modules = path.join(folder, 'node_modules');
  const tf = require(path.join(modules, '@tensorflow/tfjs'));
  const wasm = require(path.join(modules, '@tensorflow/tfjs-backend-wasm'));
  wasm.setWasmPaths(path.join(modules, '@tensorflow/tfjs-backend-wasm/dist') + path.sep);
  const faceapi = require(path.join(modules, '@vladmandic/face-api/dist/face-api.node-wasm.js'));
  await tf.setBackend('wasm');
  await tf.ready();
  for (const name of NETWORKS) {
    await faceapi.nets[name].loadFromDisk(path.join(modules, '@vladmandic/face-api/model'));
  }
  const options = new faceapi.SsdMobilenetv1Options(settings);
  return async (rgb, height, width) => {
    const image = tf.tensor3d(rgb, [height, width, 3], 'int32');
    const faces = await faceapi
      .detectAllFaces(image, options)
      .withFaceLandmarks()
      .withFaceExpressions()
      .withAgeAndGender();
    image.dispose();
    const area = (face) => face.detection.box.area;
    faces.sort((first, second) => area(second) - area(first));
    return faces.length ? valuesOf(faces[0]) : null;
  };
};
