namespace Tunnel2.Client.Core.Backend;

/// <summary>Idle connections by age. Each is in at most one list and can leave it from anywhere. Guarded by its loop's
/// gate.</summary>
internal sealed class IdleList
{
    public int Count { get; private set; }

    public BackendConnection? Oldest { get; private set; }

    public BackendConnection? Youngest { get; private set; }

    public void Add(BackendConnection connection)
    {
        connection.List = this;
        connection.Older = Youngest;
        connection.Younger = null;
        if (Youngest is null)
        {
            Oldest = connection;
        }
        else
        {
            Youngest.Younger = connection;
        }

        Youngest = connection;
        Count++;
    }

    /// <summary>Takes a connection out of this list, which has it.</summary>
    public void Remove(BackendConnection connection)
    {
        if (connection.Older is { } older)
        {
            older.Younger = connection.Younger;
        }
        else
        {
            Oldest = connection.Younger;
        }

        if (connection.Younger is { } younger)
        {
            younger.Older = connection.Older;
        }
        else
        {
            Youngest = connection.Older;
        }

        connection.List = null;
        connection.Older = connection.Younger = null;
        Count--;
    }
}
