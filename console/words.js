// Four words for some bytes, the same as on the terminal: eight syllables of a consonant and a vowel, fifty bits.

import { sha256 } from "./proof.js";

const CONSONANTS = "bdfghklmnprstvwz";
const VOWELS = "aeiou";

export async function fourWords(bytes) {
  const digest = await sha256(bytes);
  let number = digest.slice(0, 8).reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  const syllables = [];
  for (let count = 0; count < 8; count++) {
    const rest = Number(number % 80n);
    number /= 80n;
    syllables.push(CONSONANTS[Math.floor(rest / 5)] + VOWELS[rest % 5]);
  }
  return [0, 2, 4, 6].map((at) => syllables[at] + syllables[at + 1]).join(" ");
}
