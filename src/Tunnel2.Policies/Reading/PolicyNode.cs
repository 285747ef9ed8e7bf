using System.Text.Json;

namespace Tunnel2.Policies.Reading;

/// <summary>What a part of a policy's text is.</summary>
internal enum PolicyNodeKind
{
    /// <summary>Nothing: null.</summary>
    Null = 0,

    /// <summary>A text.</summary>
    Text,

    /// <summary>A number, as it is written.</summary>
    Number,

    /// <summary>True or false.</summary>
    Switch,

    /// <summary>A list.</summary>
    List,

    /// <summary>Names with values.</summary>
    Table,
}

/// <summary>A part of a policy's text, before it is judged. A file of JSON is read into it, and one of YAML too.</summary>
/// <param name="Kind">What it is.</param>
/// <param name="Text">The text, the number, <c>true</c> or <c>false</c>; empty for others.</param>
/// <param name="Line">The line where it begins, from 1.</param>
internal sealed record PolicyNode(PolicyNodeKind Kind, string Text, int Line)
{
    /// <summary>The parts of a list.</summary>
    public List<PolicyNode> Items { get; } = [];

    /// <summary>The parts of a table, in order; a name may come twice.</summary>
    public List<(string Name, PolicyNode Value)> Members { get; } = [];

    /// <summary>Writes it as JSON.</summary>
    public void WriteTo(Utf8JsonWriter json)
    {
        switch (Kind)
        {
            case PolicyNodeKind.Table:
                json.WriteStartObject();
                foreach (var (name, value) in Members)
                {
                    json.WritePropertyName(name);
                    value.WriteTo(json);
                }

                json.WriteEndObject();
                break;
            case PolicyNodeKind.List:
                json.WriteStartArray();
                foreach (var item in Items)
                {
                    item.WriteTo(json);
                }

                json.WriteEndArray();
                break;
            case PolicyNodeKind.Text:
                json.WriteStringValue(Text);
                break;
            case PolicyNodeKind.Number:
                json.WriteRawValue(Text);
                break;
            case PolicyNodeKind.Switch:
                json.WriteBooleanValue(Text == "true");
                break;
            default:
                json.WriteNullValue();
                break;
        }
    }
}
