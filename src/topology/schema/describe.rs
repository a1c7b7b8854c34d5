//! Statements that would make the same schema again.

use std::fmt::{self, Display, Write};

use scylla_cql_core::frame::response::result::{CollectionType, ColumnType, UserDefinedType};

use super::{
    Aggregate, Column, ColumnKind, Function, Index, Keyspace, Replication, Table, View,
    words::{Name, Type, joined, literal},
};

impl Keyspace {
    /// The statements that would make this keyspace and everything in it, in an order in which they can be executed.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut all = format!("CREATE KEYSPACE {} WITH replication = {}", Name(&self.name), self.replication);
        let _ = writeln!(all, " AND durable_writes = {};", self.durable_writes);
        let mut named: Vec<&UserDefinedType<'_>> = self.types.values().map(|typ| &**typ).collect();
        // A type after those that it holds.
        while let Some(next) = named.iter().position(|typ| !named.iter().any(|other| holds(typ, &other.name))) {
            let typ = named.remove(next);
            let fields = typ.field_types.iter().map(|(name, typ)| format!("{} {}", Name(name), Type(typ)));
            let _ = writeln!(all, "\nCREATE TYPE {}.{} ({});", Name(&self.name), Name(&typ.name), joined(fields));
        }
        self.tables.values().for_each(|table| {
            let _ = write!(all, "\n{}", table.describe());
        });
        self.views.values().for_each(|view| {
            let _ = write!(all, "\n{}", view.describe());
        });
        self.functions.iter().for_each(|function| {
            let _ = writeln!(all, "\n{}", function.describe(&self.name));
        });
        self.aggregates.iter().for_each(|aggregate| {
            let _ = writeln!(all, "\n{}", aggregate.describe(&self.name));
        });
        all
    }
}

fn holds(typ: &UserDefinedType<'_>, name: &str) -> bool {
    fn within(typ: &ColumnType<'_>, name: &str) -> bool {
        match typ {
            ColumnType::UserDefinedType { definition, .. } => definition.name == name,
            ColumnType::Collection { typ: CollectionType::List(one) | CollectionType::Set(one), .. } => {
                within(one, name)
            }
            ColumnType::Collection { typ: CollectionType::Map(key, value), .. } => {
                within(key, name) || within(value, name)
            }
            ColumnType::Vector { typ, .. } => within(typ, name),
            ColumnType::Tuple(elements) => elements.iter().any(|typ| within(typ, name)),
            _ => false,
        }
    }
    typ.field_types.iter().any(|(_, typ)| within(typ, name))
}

impl Display for Replication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simple(factor) => write!(f, "{{'class': 'SimpleStrategy', 'replication_factor': '{factor}'}}"),
            Self::NetworkTopology(factors) => {
                f.write_str("{'class': 'NetworkTopologyStrategy'")?;
                factors.iter().try_for_each(|(name, factor)| write!(f, ", {}: '{factor}'", literal(name)))?;
                f.write_str("}")
            }
            Self::Everywhere => f.write_str("{'class': 'EverywhereStrategy'}"),
            Self::Local => f.write_str("{'class': 'LocalStrategy'}"),
            Self::Other { class, options } => {
                write!(f, "{{'class': {}", literal(class))?;
                options.iter().try_for_each(|(name, value)| write!(f, ", {}: {}", literal(name), literal(value)))?;
                f.write_str("}")
            }
        }
    }
}

impl Table {
    /// The statements that would make this table and its indexes.
    #[must_use]
    pub fn describe(&self) -> String {
        let mut all = format!("CREATE TABLE {}.{} (\n", Name(&self.keyspace), Name(&self.name));
        for column in self.in_order() {
            let fixed = if column.kind == ColumnKind::Static { " static" } else { "" };
            let _ = writeln!(all, "    {} {}{fixed},", Name(&column.name), Type(&column.typ));
        }
        let _ = writeln!(all, "    PRIMARY KEY ({})\n){};", self.primary_key(), self.with());
        for index in self.indexes.values() {
            let _ = writeln!(all, "{}", index.describe(self));
        }
        all
    }

    /// Keys first, then the others by name.
    fn in_order(&self) -> impl Iterator<Item = &Column> {
        let key = self.partition_key.iter().chain(&self.clustering).filter_map(|name| self.columns.get(name));
        let rest = self.columns.values();
        key.chain(rest.filter(|column| matches!(column.kind, ColumnKind::Static | ColumnKind::Regular)))
    }

    fn primary_key(&self) -> String {
        let partition = joined(self.partition_key.iter().map(|name| Name(name)));
        let clustering = self.clustering.iter().map(|name| Name(name).to_string());
        joined(std::iter::once(format!("({partition})")).chain(clustering))
    }

    fn with(&self) -> String {
        let clustering: Vec<&Column> = self.clustering.iter().filter_map(|name| self.columns.get(name)).collect();
        let order = clustering.iter().any(|column| column.descending).then(|| {
            let order = |column: &&Column| {
                let direction = if column.descending { "DESC" } else { "ASC" };
                format!("{} {direction}", Name(&column.name))
            };
            format!("CLUSTERING ORDER BY ({})", joined(clustering.iter().map(order)))
        });
        let options = self.options.iter().map(|(name, value)| format!("{name} = {value}"));
        let all: Vec<String> = order.into_iter().chain(options).collect();
        if all.is_empty() { String::new() } else { format!(" WITH {}", all.join("\n    AND ")) }
    }
}

impl Index {
    fn describe(&self, table: &Table) -> String {
        let on = format!("{}.{}", Name(&table.keyspace), Name(&table.name));
        match self.options.get("class_name") {
            Some(class) if self.kind == "CUSTOM" => {
                let name = Name(&self.name);
                format!("CREATE CUSTOM INDEX {name} ON {on} ({}) USING {};", self.target, literal(class))
            }
            _ => format!("CREATE INDEX {} ON {on} ({});", Name(&self.name), self.target),
        }
    }
}

impl View {
    /// The statement that would make this view.
    #[must_use]
    pub fn describe(&self) -> String {
        let table = &self.table;
        let columns = joined(table.in_order().map(|column| Name(&column.name)));
        let mut all = format!("CREATE MATERIALIZED VIEW {}.{} AS\n", Name(&table.keyspace), Name(&table.name));
        let _ = writeln!(all, "    SELECT {columns}\n    FROM {}.{}", Name(&table.keyspace), Name(&self.base_table));
        if let Some(clause) = &self.where_clause {
            let _ = writeln!(all, "    WHERE {clause}");
        }
        let _ = writeln!(all, "    PRIMARY KEY ({}){};", table.primary_key(), table.with());
        all
    }
}

impl Function {
    /// The statement that would make this function.
    #[must_use]
    pub fn describe(&self, keyspace: &str) -> String {
        let arguments = joined(self.arguments.iter().map(|(name, typ)| format!("{} {}", Name(name), Type(typ))));
        let null = if self.called_on_null { "CALLED" } else { "RETURNS NULL" };
        format!(
            "CREATE FUNCTION {}.{}({arguments})\n    {null} ON NULL INPUT\n    RETURNS {}\n    LANGUAGE {}\n    AS $${}$$;",
            Name(keyspace),
            Name(&self.name),
            Type(&self.returns),
            self.language,
            self.body
        )
    }
}

impl Aggregate {
    /// The statement that would make this aggregate.
    #[must_use]
    pub fn describe(&self, keyspace: &str) -> String {
        let arguments = joined(self.arguments.iter().map(Type));
        let mut all = format!("CREATE AGGREGATE {}.{}({arguments})\n", Name(keyspace), Name(&self.name));
        let _ = write!(all, "    SFUNC {}\n    STYPE {}", Name(&self.state_function), Type(&self.state));
        if let Some(name) = &self.final_function {
            let _ = write!(all, "\n    FINALFUNC {}", Name(name));
        }
        if let Some(value) = &self.initial {
            let _ = write!(all, "\n    INITCOND {value}");
        }
        all.push(';');
        all
    }
}
