/** "Try it": one small filter, one key at a time. */
import { encodeBloom } from '@freshet/bloom'
import { drawBits } from './bit-grid.js'
import { formatBytes, formatCount } from './format.js'
import { find, findInput, numberIn, setText, withErrorShown } from './page-elements.js'
import { type Answer, addKey, addTen, askFor, createTrial, findFalsePositive, type Trial } from './trial.js'

type Action = (trial: Trial, key: string) => Answer

const EMPTY: Answer = { tone: 'plain', verdict: 'The filter is empty.', because: 'Add a key, then ask for it.' }
const TYPED: Answer = { tone: 'plain', verdict: '', because: 'Add this key, or ask for it.' }
const NONE_FOUND: Answer = {
  tone: 'plain',
  verdict: 'None found.',
  because: 'The filter denies all of 100,000 keys that were not added. Add more keys, or choose a smaller filter.',
}

export function mountTryPanel(): void {
  let trial = readTrial()
  const act = (action: Action) => () => {
    if (!trial) return
    showAnswer(action(trial, findInput('try-key').value))
    showTrial(trial, findInput('try-key').value)
  }
  const startOver = () => {
    const fresh = readTrial()
    if (!fresh) return
    trial = fresh
    act(() => EMPTY)()
  }
  for (const input of sizeInputs()) input.addEventListener('input', startOver)
  find('try-key', HTMLInputElement).addEventListener(
    'input',
    act(() => TYPED),
  )
  onSubmit('try-size-form', () => undefined)
  onSubmit('try-key-form', act(addKey))
  onClick('try-ask', act(askFor))
  onClick('try-ten', act(addTen))
  onClick('try-find', act(askForFalsePositive))
  onClick('try-clear', startOver)
  startOver()
}

function sizeInputs(): [entries: HTMLInputElement, rate: HTMLInputElement] {
  return [findInput('try-entries'), findInput('try-rate')]
}

function readTrial(): Trial | undefined {
  const [entriesMax, falsePositiveRateMax] = sizeInputs().map(numberIn) as [number, number]
  return withErrorShown('try-error', sizeInputs(), () => createTrial(entriesMax, falsePositiveRateMax))
}

/** Puts the key into the box, as if the visitor had typed it and looked it up. */
function askForFalsePositive(trial: Trial): Answer {
  const key = findFalsePositive(trial)
  if (key === undefined) return NONE_FOUND
  findInput('try-key').value = key
  return askFor(trial, key)
}

function showAnswer({ tone, verdict, because }: Answer): void {
  const answer = find('try-answer', HTMLElement)
  const strong = document.createElement('strong')
  strong.textContent = verdict
  answer.dataset.tone = tone
  answer.replaceChildren(strong, ` ${because}`)
}

function showTrial({ bloom, added }: Trial, key: string): void {
  setText('try-count', formatCount(added.size))
  setText('try-set', `${formatCount(Math.round(bloom.fillRatio() * bloom.bits))} of ${formatCount(bloom.bits)}`)
  setText('try-hashes', String(bloom.hashes))
  setText('try-size', formatBytes(encodeBloom(bloom).length))
  drawBits(find('try-grid', HTMLElement), bloom, key)
}

function onClick(id: string, action: () => void): void {
  find(id, HTMLButtonElement).addEventListener('click', action)
}

function onSubmit(id: string, action: () => void): void {
  find(id, HTMLFormElement).addEventListener('submit', event => {
    event.preventDefault()
    action()
  })
}
