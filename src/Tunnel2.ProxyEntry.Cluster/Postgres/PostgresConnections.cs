using System.Net.Sockets;
using System.Security.Authentication;
using Npgsql;
using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Postgres;

/// <summary>
/// Connections to the database, and calls with a deadline that does not depend on the database or the network. Thread-safe.
/// </summary>
internal sealed class PostgresConnections : IAsyncDisposable
{
    /// <summary>How long a call may take.</summary>
    public static readonly TimeSpan Deadline = TimeSpan.FromSeconds(1);

    /// <summary>How often a full queue is asked for at most.</summary>
    public static readonly TimeSpan QueueEvery = TimeSpan.FromSeconds(10);

    private readonly NpgsqlDataSource _source;
    private readonly TimeSpan _deadline;
    private readonly TimeProvider _timeProvider;
    private string? _refusal;
    private long _queueAsked = long.MinValue;

    /// <param name="connectionString">The setting. What it does not say is chosen for short calls and quick failures.</param>
    /// <param name="deadline">How long a call may take; null: <see cref="Deadline"/>.</param>
    /// <param name="timeProvider">The clock; null: the system's.</param>
    /// <exception cref="IOException">It is none.</exception>
    public PostgresConnections(string connectionString, TimeSpan? deadline = null, TimeProvider? timeProvider = null)
    {
        _timeProvider = timeProvider ?? TimeProvider.System;
        _deadline = deadline ?? Deadline;
        NpgsqlConnectionStringBuilder given;
        try
        {
            given = new NpgsqlConnectionStringBuilder(connectionString);
        }
        catch (ArgumentException exception)
        {
            // Not its message, which may have a part of the text.
            throw new IOException(
                "Tunnel2:Cluster:Database is not a connection string of Npgsql"
                    + (exception.ParamName is { Length: > 0 } where ? $": something is wrong at '{where}'." : "."),
                exception);
        }

        var builder = new NpgsqlConnectionStringBuilder(connectionString)
        {
            // The connection is thrown away instead of waiting for a database that does not answer.
            CancellationTimeout = -1,
            Timeout = (int)Math.Ceiling(_deadline.TotalSeconds),
            CommandTimeout = 0,
            Pooling = true,
            AutoPrepareMinUsages = 2,
            MaxAutoPrepare = 20,
            Enlist = false,
        };

        // One more is for LISTEN.
        builder.MaxPoolSize = (given.ContainsKey("Maximum Pool Size") ? given.MaxPoolSize : 8) + 1;
        // A call that is given up must not leave a process of the database behind that waits, and a lock is no silence. What
        // the setting says comes after these.
        var milliseconds = (long)_deadline.TotalMilliseconds;
        builder.Options = $"-c statement_timeout={milliseconds} -c lock_timeout={milliseconds * 3 / 4} {given.Options}".TrimEnd();
        builder.ApplicationName = given.ApplicationName is { Length: > 0 } name ? name : "tunnel2-entry";
        builder.HostRecheckSeconds = given.ContainsKey("Host Recheck Seconds") ? given.HostRecheckSeconds : 1;
        _source = new NpgsqlDataSourceBuilder(builder.ConnectionString).Build();
    }

    /// <summary>Opens a connection.</summary>
    public ValueTask<NpgsqlConnection> OpenAsync(CancellationToken cancellationToken) => _source.OpenConnectionAsync(cancellationToken);

    /// <summary>
    /// Hands a caller's wish to end on to a limit, in the pool: on the thread that wishes, Npgsql first asks the database to cancel the
    /// statement, on a connection of its own. A node that stops would wait for each of its statements in turn, where the database hangs.
    /// </summary>
    public static CancellationTokenRegistration HandOn(CancellationTokenSource limit, CancellationToken caller) =>
        caller.UnsafeRegister(static limit => _ = ((CancellationTokenSource)limit!).CancelAsync(), limit);

    /// <summary>The limit of one of several parts of a call.</summary>
    public CancellationTokenSource Limit(CancellationToken call)
    {
        var limit = CancellationTokenSource.CreateLinkedTokenSource(call);
        limit.CancelAfter(_deadline);
        return limit;
    }

    /// <summary>How long a call of several parts may take, each of which may take as long as a call.</summary>
    public TimeSpan DeadlineOf(int parts) => Math.Max(parts, 1) * _deadline;

    /// <summary>
    /// Looks whether the tables are as this node needs them, and makes them so. Where they are for newer nodes only, no call uses them
    /// until they are for this one too.
    /// </summary>
    /// <param name="find">Looks; null: they have to be made.</param>
    /// <param name="make">Makes them.</param>
    /// <param name="preparation">How long that may take.</param>
    /// <param name="cancellationToken">The caller's wish to end.</param>
    /// <exception cref="StoreUnavailableException">It failed, or took too long.</exception>
    public async Task<T> PrepareAsync<T>(
        Func<NpgsqlConnection, CancellationToken, Task<T?>> find, Func<NpgsqlConnection, CancellationToken, Task<T>> make,
        TimeSpan preparation, CancellationToken cancellationToken)
        where T : class
    {
        try
        {
            var prepared = await TimeAsync(find, _deadline, cancellationToken).ConfigureAwait(false)
                ?? await TimeAsync(make, preparation, cancellationToken).ConfigureAwait(false);
            Volatile.Write(ref _refusal, null);
            return prepared;
        }
        catch (StoreUnavailableException exception) when (exception.IsForNewerNodes)
        {
            Volatile.Write(ref _refusal, exception.Reason);
            throw;
        }
    }

    /// <summary>Runs a call with a connection, on the thread pool: a caller may be an event loop.</summary>
    /// <exception cref="StoreUnavailableException">It failed, or took too long, or the tables are for newer nodes only.</exception>
    public Task<T> CallAsync<T>(
        Func<NpgsqlConnection, CancellationToken, Task<T>> call, CancellationToken cancellationToken, TimeSpan? deadline = null) =>
        Volatile.Read(ref _refusal) is { } reason
            ? Task.FromException<T>(new StoreUnavailableException(reason))
            : TimeAsync(call, deadline ?? _deadline, cancellationToken);

    /// <summary>What an exception of the database means.</summary>
    public static StoreUnavailableException Translate(Exception exception) => exception switch
    {
        StoreUnavailableException unavailable => unavailable,
        OperationCanceledException or TimeoutException or PostgresException { SqlState: PostgresErrorCodes.QueryCanceled } =>
            new StoreUnavailableException("timed out", cause: exception),
        PostgresException
        {
            SqlState: PostgresErrorCodes.UndefinedTable or PostgresErrorCodes.UndefinedFunction or PostgresErrorCodes.UndefinedColumn
        } =>
            new StoreUnavailableException("its tables are missing", true, exception),
        PostgresException { SqlState: PostgresErrorCodes.ReadOnlySqlTransaction } =>
            new StoreUnavailableException("read-only", cause: exception),
        PostgresException { SqlState: PostgresErrorCodes.LockNotAvailable } =>
            new StoreUnavailableException("a transaction has locked a table or a row", cause: exception) { IsLocked = true },
        PostgresException { SqlState: var state } => new StoreUnavailableException(WordsFor(state), cause: exception),
        NpgsqlException { InnerException: TimeoutException } => new StoreUnavailableException("timed out", cause: exception),
        NpgsqlException { InnerException: AuthenticationException } =>
            new StoreUnavailableException("its TLS certificate is not trusted, or TLS fails", cause: exception),
        NpgsqlException { InnerException: null } => new StoreUnavailableException("the login fails", cause: exception),
        _ => new StoreUnavailableException("unreachable", cause: exception),
    };

    /// <summary>Whether an exception is one of the database or of the way to it.</summary>
    public static bool IsOfDatabase(Exception exception) =>
        exception is NpgsqlException or SocketException or IOException or TimeoutException or ObjectDisposedException
            or StoreUnavailableException;

    /// <inheritdoc/>
    public ValueTask DisposeAsync() => _source.DisposeAsync();

    /// <summary>A question that frees the queue takes long. Further ones would wait, each in a process of the database.</summary>
    internal bool IsQueueToBeAskedFor()
    {
        var (now, last) = (_timeProvider.GetTimestamp(), Volatile.Read(ref _queueAsked));
        return (last == long.MinValue || _timeProvider.GetElapsedTime(last, now) >= QueueEvery)
            && Interlocked.CompareExchange(ref _queueAsked, now, last) == last;
    }

    /// <summary>What an operator can mend is said in words.</summary>
    private static string WordsFor(string state) => state switch
    {
        PostgresErrorCodes.InvalidPassword or PostgresErrorCodes.InvalidAuthorizationSpecification => "it refuses the login",
        PostgresErrorCodes.InvalidCatalogName => "there is no such database",
        PostgresErrorCodes.InsufficientPrivilege => "its role lacks a right that nodes need",
        PostgresErrorCodes.TooManyConnections => "it has too many connections",
        "2200H" => "its sequence tunnel2_epochs is at its end",
        PostgresErrorCodes.ProgramLimitExceeded =>
            "its queue of notifications is full: a client that listens does not end its transaction",
        PostgresErrorCodes.CannotConnectNow or PostgresErrorCodes.AdminShutdown or PostgresErrorCodes.CrashShutdown =>
            "it is starting or stopping",
        _ => $"error {state}",
    };

    private static bool IsOfFullQueue(PostgresException exception) => exception.SqlState == PostgresErrorCodes.ProgramLimitExceeded;

    /// <summary>
    /// A full queue of notifications stays full when what held it is gone: PostgreSQL looks for that only where a notification has
    /// fitted, or where it is asked how full the queue is.
    /// </summary>
    private static async Task AskForQueueAsync(NpgsqlConnection connection, CancellationToken cancellationToken)
    {
        try
        {
            var command = new NpgsqlCommand(PostgresSql.QueueUsage, connection);
            await using (command.ConfigureAwait(false))
            {
                await command.ExecuteScalarAsync(cancellationToken).ConfigureAwait(false);
            }
        }
        catch (Exception exception) when (IsOfDatabase(exception) || exception is OperationCanceledException)
        {
            // Gigabytes of files are removed in this call. The database does so to its end, although no one waits for it.
        }
    }

    private async Task<T> TimeAsync<T>(
        Func<NpgsqlConnection, CancellationToken, Task<T>> call, TimeSpan deadline, CancellationToken cancellationToken)
    {
        var running = Task.Run(() => RunAsync(call, deadline, cancellationToken), CancellationToken.None);
        try
        {
            return await running.WaitAsync(deadline, cancellationToken).ConfigureAwait(false);
        }
        catch (TimeoutException exception)
        {
            if (running.IsCompleted)
            {
                return await running.ConfigureAwait(false);
            }

            // It ends by itself, soon: its own limit has passed too.
            _ = running.ContinueWith(
                static task => task.Exception, CancellationToken.None, TaskContinuationOptions.OnlyOnFaulted, TaskScheduler.Default);
            throw new StoreUnavailableException("timed out", cause: exception);
        }
    }

    private async Task<T> RunAsync<T>(
        Func<NpgsqlConnection, CancellationToken, Task<T>> call, TimeSpan deadline, CancellationToken cancellationToken)
    {
        using var limit = new CancellationTokenSource(deadline);
        using var handing = HandOn(limit, cancellationToken);
        try
        {
            var connection = await _source.OpenConnectionAsync(limit.Token).ConfigureAwait(false);
            await using (connection.ConfigureAwait(false))
            {
                try
                {
                    return await call(connection, limit.Token).ConfigureAwait(false);
                }
                catch (PostgresException exception) when (IsOfFullQueue(exception) && IsQueueToBeAskedFor())
                {
                    await AskForQueueAsync(connection, limit.Token).ConfigureAwait(false);
                    throw;
                }
            }
        }
        catch (Exception exception)
            when (IsOfDatabase(exception) || (exception is OperationCanceledException && !cancellationToken.IsCancellationRequested))
        {
            throw Translate(exception);
        }
    }
}
