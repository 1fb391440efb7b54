/** Questions that the primary asks its workers, each with its answer, or undefined if none arrives in time. */
export interface PoolQuestionsOptions<Subject> {
  /** Asks a worker. Pass its answer, if any, to `answered`. */
  readonly ask: (worker: number, question: number, subject: Subject) => void
  readonly waitMsMax: number
}

export class PoolQuestions<Subject, Answer> {
  readonly #options: PoolQuestionsOptions<Subject>
  readonly #waiting = new Map<number, (answer: Answer | undefined) => void>()
  #lastQuestion = 0

  constructor(options: PoolQuestionsOptions<Subject>) {
    this.#options = options
  }

  ask(worker: number, subject: Subject): Promise<Answer | undefined> {
    const question = ++this.#lastQuestion
    return new Promise(resolve => {
      const settle = (answer: Answer | undefined) => {
        clearTimeout(timer)
        this.#waiting.delete(question)
        resolve(answer)
      }
      const timer = setTimeout(() => settle(undefined), this.#options.waitMsMax)
      this.#waiting.set(question, settle)
      this.#options.ask(worker, question, subject)
    })
  }

  answered(question: number, answer: Answer): void {
    this.#waiting.get(question)?.(answer)
  }
}
