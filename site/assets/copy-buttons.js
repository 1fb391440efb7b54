/** A button beside each block of code that copies it. */

/** Output, and drawings in characters. */
const NOT_COPIED = ['language-text', 'language-console']
const SAID_MS = 2000

export function addCopyButtons() {
  const status = Object.assign(document.createElement('p'), { className: 'unseen' })
  status.setAttribute('role', 'status')
  document.querySelector('main').append(status)
  for (const code of document.querySelectorAll('.code code')) {
    const isCopied = code.className !== '' && !NOT_COPIED.includes(code.className)
    if (isCopied) code.closest('.code').append(buttonFor(code, status))
  }
}

function buttonFor(code, status) {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  const name = Object.assign(document.createElement('span'), { textContent: 'Copy' })
  const what = Object.assign(document.createElement('span'), { className: 'unseen', textContent: ' this code' })
  button.append(name, what)
  button.addEventListener('click', async () => {
    const isCopied = await copy(textOf(code))
    if (!isCopied) getSelection().selectAllChildren(code)
    name.textContent = isCopied ? 'Copied' : 'Press Ctrl+C'
    status.textContent = isCopied ? 'Copied' : 'The code is selected. Press Ctrl+C to copy it.'
    setTimeout(() => {
      name.textContent = 'Copy'
      status.textContent = ''
    }, SAID_MS)
  })
  return button
}

/** The clipboard is missing where a page comes over plain HTTP from another machine, and a browser may refuse it. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}

/** Commands without their comments: at a prompt, zsh (the shell of macOS) takes a comment for arguments. */
function textOf(code) {
  if (code.className !== 'language-sh') return code.textContent
  const commands = code.cloneNode(true)
  for (const comment of commands.querySelectorAll('.hljs-comment')) comment.remove()
  const lines = commands.textContent.split('\n').map(line => line.trimEnd())
  const text = lines.filter(line => line !== '').join('\n')
  return text === '' ? code.textContent : `${text}\n`
}
