using System.Collections.Immutable;
using System.Text;
using Tunnel2.Http1;
using Tunnel2.Http1.Syntax;
using Tunnel2.Policies.Tables;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>What the matching rows of a policy do with the fields of a message. It serves one request at a time, and is reused.</summary>
internal sealed class FieldEdits
{
    private readonly List<FieldEdit> _edits = [];

    /// <summary>Whether there is nothing to do.</summary>
    public bool IsEmpty => _edits.Count == 0;

    /// <summary>Removes all.</summary>
    public void Clear() => _edits.Clear();

    /// <summary>Adds the edits of a row, which come after those before it.</summary>
    public void Add(ImmutableArray<FieldEdit> edits) => _edits.AddRange(edits);

    /// <summary>
    /// Whether a field of the message goes: so do names that look like its, with another sign in place of a hyphen, because many services
    /// cannot distinguish them.
    /// </summary>
    public bool Drops(ReadOnlySpan<byte> name)
    {
        foreach (var edit in _edits)
        {
            if (edit.Kind != FieldEditKind.Add && FieldLookalikes.Are(edit.Name, name))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>The same for a name in text.</summary>
    public bool Drops(string name)
    {
        foreach (var edit in _edits)
        {
            if (edit.Kind != FieldEditKind.Add && FieldLookalikes.Are(edit.Name, name))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>Whether a field of a head goes. A Trailer that stays loses the names of trailers that go.</summary>
    /// <param name="known">The known field.</param>
    /// <param name="name">Its name.</param>
    /// <param name="value">Its value, and what is left of it.</param>
    public bool Drops(KnownField known, ReadOnlySpan<byte> name, ref ReadOnlySpan<byte> value)
    {
        if (Drops(name))
        {
            return true;
        }

        if (known == KnownField.Trailer && Announces(value))
        {
            value = WithoutDropped(value);
            return value.IsEmpty;
        }

        return false;
    }

    /// <summary>Whether a Trailer has the name of a field that goes.</summary>
    private bool Announces(ReadOnlySpan<byte> value)
    {
        var list = new ListReader(value);
        while (list.TryRead(out var name))
        {
            if (Drops(name))
            {
                return true;
            }
        }

        return false;
    }

    private byte[] WithoutDropped(ReadOnlySpan<byte> value)
    {
        // Rare, so it may allocate.
        var kept = new List<byte>(value.Length);
        var list = new ListReader(value);
        while (list.TryRead(out var name))
        {
            if (name.IsEmpty || Drops(name))
            {
                continue;
            }

            kept.AddRange(kept.Count == 0 ? default : ", "u8);
            kept.AddRange(name);
        }

        return [.. kept];
    }

    /// <summary>Whether a line of this name is added.</summary>
    public bool Adds(ReadOnlySpan<byte> name)
    {
        for (var i = 0; i < _edits.Count; i++)
        {
            if (LineAt(i) is { } line && Ascii.EqualsIgnoreCase(line.NameBytes, name))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>How many edits there are.</summary>
    public int Count => _edits.Count;

    /// <summary>The line that an edit adds; null: it adds none, or a later edit takes it back.</summary>
    public FieldEdit? LineAt(int index)
    {
        var edit = _edits[index];
        if (edit.Kind == FieldEditKind.Remove)
        {
            return null;
        }

        for (var i = index + 1; i < _edits.Count; i++)
        {
            if (_edits[i].Kind != FieldEditKind.Add && _edits[i].Name.Equals(edit.Name, StringComparison.OrdinalIgnoreCase))
            {
                return null;
            }
        }

        return edit;
    }
}
