export type Page = { page: number; pageSize: number };

export type Paged<T> = { total: number; items: T[] };
