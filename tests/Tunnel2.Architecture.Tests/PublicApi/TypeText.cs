using System.Reflection;

namespace Tunnel2.Architecture.Tests.PublicApi;

/// <summary>Renders types for <see cref="PublicApiText"/>.</summary>
internal static class TypeText
{
    private static readonly Dictionary<Type, string> _keywords = new()
    {
        [typeof(void)] = "void",
        [typeof(object)] = "object",
        [typeof(string)] = "string",
        [typeof(bool)] = "bool",
        [typeof(char)] = "char",
        [typeof(byte)] = "byte",
        [typeof(sbyte)] = "sbyte",
        [typeof(short)] = "short",
        [typeof(ushort)] = "ushort",
        [typeof(int)] = "int",
        [typeof(uint)] = "uint",
        [typeof(long)] = "long",
        [typeof(ulong)] = "ulong",
        [typeof(nint)] = "nint",
        [typeof(nuint)] = "nuint",
        [typeof(float)] = "float",
        [typeof(double)] = "double",
        [typeof(decimal)] = "decimal",
    };

    public static string Name(Type type) => Name(type, nullability: null);

    public static string Name(Type type, NullabilityInfo? nullability)
    {
        if (type.IsByRef)
        {
            return Name(type.GetElementType()!, nullability?.ElementType ?? nullability);
        }

        var question = nullability is { ReadState: NullabilityState.Nullable } or { WriteState: NullabilityState.Nullable } ? "?" : "";
        if (Nullable.GetUnderlyingType(type) is { } value)
        {
            return Name(value) + "?";
        }

        if (type.IsArray)
        {
            return $"{Name(type.GetElementType()!, nullability?.ElementType)}[{new string(',', type.GetArrayRank() - 1)}]{question}";
        }

        if (type.IsPointer)
        {
            return Name(type.GetElementType()!) + "*";
        }

        var name = _keywords.TryGetValue(type, out var keyword) ? keyword
            : type.IsGenericParameter ? type.Name
            : type.IsGenericType && !type.IsGenericTypeDefinition ? Generic(type, nullability)
            : NestedName(type);
        return name + (type.IsValueType ? "" : question);
    }

    /// <summary>The name with those of the types around it, and the names of type parameters.</summary>
    public static string NestedName(Type type)
    {
        var simple = type.Name.Split('`')[0];
        var prefix = type.DeclaringType is null ? "" : NestedName(type.DeclaringType) + ".";
        return type.IsGenericTypeDefinition
            ? $"{prefix}{simple}<{string.Join(", ", type.GetGenericArguments().Select(x => x.Name))}>"
            : prefix + simple;
    }

    public static string Constraints(Type[] parameters) => string.Concat(parameters.Select(parameter =>
    {
        var attributes = parameter.GenericParameterAttributes;
        var parts = new List<string>();
        Add(GenericParameterAttributes.NotNullableValueTypeConstraint, "struct");
        Add(GenericParameterAttributes.ReferenceTypeConstraint, "class");
        parts.AddRange(
            parameter.GetGenericParameterConstraints().Where(type => type != typeof(ValueType)).Select(Name).Order(StringComparer.Ordinal));
        Add(GenericParameterAttributes.AllowByRefLike, "allows ref struct");
        return parts.Count == 0 ? "" : $" where {parameter.Name} : {string.Join(", ", parts)}";

        void Add(GenericParameterAttributes attribute, string word)
        {
            if (attributes.HasFlag(attribute))
            {
                parts.Add(word);
            }
        }
    }));

    private static string Generic(Type type, NullabilityInfo? nullability)
    {
        var arguments = type.GetGenericArguments();
        var inner = nullability?.GenericTypeArguments is { } known && known.Length == arguments.Length ? known : null;
        return $"{type.Name.Split('`')[0]}<{string.Join(", ", arguments.Select((argument, i) => Name(argument, inner?[i])))}>";
    }
}
