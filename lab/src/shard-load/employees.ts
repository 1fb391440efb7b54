/**
 * The Employees sample database as Venkateswaran et al. fill it: 100 first names by 1,000 last names, each employee with a salary
 * for every year since they were hired, in one of 9 departments. The servers generate it from numbers, always the same.
 */
import type { Connection } from 'mariadb'

export const EMPLOYEES = 100_000
export const SHARDED: Readonly<Record<string, string>> = {
  employees: 'emp_no',
  salaries: 'emp_no',
  titles: 'emp_no',
  dept_emp: 'emp_no',
  dept_manager: 'emp_no',
}
export const GLOBAL: readonly string[] = ['departments']

const DEPARTMENTS = 9
const HIRED = { from: 2000, years: 18 }
const LAST_YEAR = HIRED.from + HIRED.years - 1

const TABLES = [
  'CREATE TABLE departments (dept_no CHAR(4) PRIMARY KEY, dept_name VARCHAR(40) NOT NULL UNIQUE)',
  "CREATE TABLE employees (emp_no INT PRIMARY KEY, birth_date DATE NOT NULL, first_name VARCHAR(14) NOT NULL, last_name VARCHAR(16) NOT NULL, gender ENUM('M','F') NOT NULL, hire_date DATE NOT NULL)",
  'CREATE TABLE salaries (emp_no INT NOT NULL, salary INT NOT NULL, from_date DATE NOT NULL, to_date DATE NOT NULL, PRIMARY KEY (emp_no, from_date))',
  'CREATE TABLE titles (emp_no INT NOT NULL, title VARCHAR(50) NOT NULL, from_date DATE NOT NULL, to_date DATE, PRIMARY KEY (emp_no, title, from_date))',
  'CREATE TABLE dept_emp (emp_no INT NOT NULL, dept_no CHAR(4) NOT NULL, from_date DATE NOT NULL, to_date DATE NOT NULL, PRIMARY KEY (emp_no, dept_no))',
  'CREATE TABLE dept_manager (emp_no INT NOT NULL, dept_no CHAR(4) NOT NULL, from_date DATE NOT NULL, to_date DATE NOT NULL, PRIMARY KEY (emp_no, dept_no))',
]

/** Fills the employees from `from` (inclusive) to `to` (exclusive). */
export async function fillEmployees(connection: Connection, from: number, to: number): Promise<void> {
  const last = to - 1
  const hired = `(${HIRED.from} + (seq * 31) % ${HIRED.years})`
  for (const table of TABLES) await connection.query(table)
  await connection.query(
    `INSERT INTO departments SELECT CONCAT('d00', seq), CONCAT('Department ', seq) FROM seq_1_to_${DEPARTMENTS}`,
  )
  await connection.query(
    `INSERT INTO employees SELECT seq, MAKEDATE(1950 + seq % 40, 1 + seq % 360), CONCAT('First', seq % 100), CONCAT('Last', seq DIV 100), IF(seq % 2, 'M', 'F'), MAKEDATE(${hired}, 1) FROM seq_${from}_to_${last}`,
  )
  await connection.query(
    `INSERT INTO salaries SELECT e.emp_no, 40000 + (e.emp_no * 7919) % 20000 + (y.seq - YEAR(e.hire_date)) * 900, MAKEDATE(y.seq, 1), MAKEDATE(y.seq + 1, 1) FROM employees e JOIN seq_${HIRED.from}_to_${LAST_YEAR} y ON y.seq >= YEAR(e.hire_date)`,
  )
  await connection.query(
    `INSERT INTO titles SELECT emp_no, ELT(1 + emp_no % 3, 'Engineer', 'Staff', 'Senior Staff'), hire_date, NULL FROM employees`,
  )
  await connection.query(
    `INSERT INTO dept_emp SELECT emp_no, CONCAT('d00', 1 + emp_no % ${DEPARTMENTS}), hire_date, '9999-01-01' FROM employees`,
  )
  await connection.query(
    `INSERT INTO dept_manager SELECT emp_no, dept_no, from_date, to_date FROM dept_emp WHERE emp_no % 1000 < ${DEPARTMENTS}`,
  )
}
