using System.Text;

namespace Tunnel2.Policies.Tables;

/// <summary>What happens to a field.</summary>
internal enum FieldEditKind
{
    /// <summary>It gets one more line.</summary>
    Add = 0,

    /// <summary>It gets this value in place of all that it has.</summary>
    Set,

    /// <summary>It is removed.</summary>
    Remove,
}

/// <summary>A change of a field. Immutable.</summary>
internal sealed record FieldEdit
{
    public FieldEdit(FieldEditKind kind, string name, string value)
    {
        Kind = kind;
        Name = name;
        Value = value;
        NameBytes = Encoding.ASCII.GetBytes(name);
        ValueBytes = Encoding.ASCII.GetBytes(value);
    }

    /// <summary>What happens.</summary>
    public FieldEditKind Kind { get; }

    /// <summary>The field's name, a token.</summary>
    public string Name { get; }

    /// <summary>Its value, printable ASCII; empty where it is removed.</summary>
    public string Value { get; }

    /// <summary>The name in bytes.</summary>
    public byte[] NameBytes { get; }

    /// <summary>The value in bytes.</summary>
    public byte[] ValueBytes { get; }

    /// <summary>The name alone: a value may be a secret.</summary>
    public override string ToString() => $"{Kind} {Name}";
}
