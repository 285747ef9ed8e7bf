using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading.Tasks.Sources;

namespace Tunnel2.Multiplexing.Threading;

/// <summary>
/// Builds the tasks of an asynchronous method whose suspended calls are kept for the next ones, as many as wait at once: the runtime's
/// <see cref="PoolingAsyncValueTaskMethodBuilder"/> keeps one for each thread and a few more, so that of fifty requests at a time nearly
/// every one allocates (decision 0016). For methods that run once per request. A task of it is awaited once, like every
/// <see cref="ValueTask"/> with a source.
/// </summary>
[StructLayout(LayoutKind.Auto)]
internal struct ReusedValueTaskMethodBuilder
{
    /// <summary>Suspended calls of one method that a thread keeps.</summary>
    private const int MaxKept = 1024;

    private Call? _call;
    private Exception? _fault;

    /// <summary>The task of the call.</summary>
    public readonly ValueTask Task => _call is { } call ? call.Task : _fault is null ? default : ValueTask.FromException(_fault);

    /// <summary>For the compiler.</summary>
    public static ReusedValueTaskMethodBuilder Create() => default;

    /// <summary>Runs the method until it waits for the first time.</summary>
    public readonly void Start<TStateMachine>(ref TStateMachine stateMachine)
        where TStateMachine : IAsyncStateMachine =>
        default(AsyncTaskMethodBuilder).Start(ref stateMachine);

    /// <summary>For the compiler; of no meaning here.</summary>
    public readonly void SetStateMachine(IAsyncStateMachine stateMachine) => ArgumentNullException.ThrowIfNull(stateMachine);

    /// <summary>The method returned.</summary>
    public readonly void SetResult() => _call?.SetResult();

    /// <summary>The method threw.</summary>
    public void SetException(Exception exception)
    {
        if (_call is { } call)
        {
            call.SetException(exception);
        }
        else
        {
            _fault = exception;
        }
    }

    /// <summary>The method waits.</summary>
    public void AwaitOnCompleted<TAwaiter, TStateMachine>(ref TAwaiter awaiter, ref TStateMachine stateMachine)
        where TAwaiter : INotifyCompletion
        where TStateMachine : IAsyncStateMachine =>
        awaiter.OnCompleted(Suspend(ref stateMachine));

    /// <summary>The method waits.</summary>
    public void AwaitUnsafeOnCompleted<TAwaiter, TStateMachine>(ref TAwaiter awaiter, ref TStateMachine stateMachine)
        where TAwaiter : ICriticalNotifyCompletion
        where TStateMachine : IAsyncStateMachine =>
        awaiter.UnsafeOnCompleted(Suspend(ref stateMachine));

    private Action Suspend<TStateMachine>(ref TStateMachine stateMachine)
        where TStateMachine : IAsyncStateMachine
    {
        if (_call is not { } call)
        {
            // This builder is a part of the state machine, which moves into the call: it has to know the call first.
            var first = Call<TStateMachine>.Rent();
            _call = call = first;
            first.Take(ref stateMachine);
        }

        call.Context = ExecutionContext.Capture();
        return call.Continue;
    }

    /// <summary>A call that has waited: what its task is made of.</summary>
    private abstract class Call : IValueTaskSource
    {
        private static readonly ContextCallback _moveNext = static self => ((Call)self!).MoveNext();

        private ManualResetValueTaskSourceCore<bool> _source;

        protected Call()
        {
            Continue = Run;
        }

        /// <summary>What to run when the wait is over.</summary>
        public Action Continue { get; }

        /// <summary>What flows with the call; null where its flow is suppressed.</summary>
        public ExecutionContext? Context { get; set; }

        public ValueTask Task => new(this, _source.Version);

        public void SetResult() => _source.SetResult(true);

        public void SetException(Exception exception) => _source.SetException(exception);

        public ValueTaskSourceStatus GetStatus(short token) => _source.GetStatus(token);

        public void OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
            _source.OnCompleted(continuation, state, token, flags);

        public void GetResult(short token)
        {
            if (_source.GetStatus(token) == ValueTaskSourceStatus.Pending)
            {
                throw new InvalidOperationException("The task was asked for its result before it had one.");
            }

            try
            {
                _source.GetResult(token);
            }
            finally
            {
                _source.Reset();
                Context = null;
                Return();
            }
        }

        protected abstract void MoveNext();

        protected abstract void Return();

        private void Run()
        {
            if (Context is { } context)
            {
                ExecutionContext.Run(context, _moveNext, this);
            }
            else
            {
                MoveNext();
            }
        }
    }

    private sealed class Call<TStateMachine> : Call
        where TStateMachine : IAsyncStateMachine
    {
        // Where the engine is an event loop there is one such list; elsewhere a call may be returned on another thread than it was rented
        // on.
        [ThreadStatic]
        private static Call<TStateMachine>? _kept;

        [ThreadStatic]
        private static int _count;

        private Call<TStateMachine>? _next;
        private TStateMachine? _stateMachine;

        public static Call<TStateMachine> Rent()
        {
            if (_kept is not { } call)
            {
                return new Call<TStateMachine>();
            }

            _kept = call._next;
            call._next = null;
            _count--;
            return call;
        }

        public void Take(ref TStateMachine stateMachine) => _stateMachine = stateMachine;

        protected override void MoveNext() => _stateMachine!.MoveNext();

        protected override void Return()
        {
            // Nothing of the request may be held by a call that waits for the next one.
            _stateMachine = default;
            if (_count < MaxKept)
            {
                _next = _kept;
                _kept = this;
                _count++;
            }
        }
    }
}
